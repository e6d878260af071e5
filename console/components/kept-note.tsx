import { Trans } from '@lingui/react/macro';
import { useRef } from 'react';
import { usePassFocus } from '#console/lib/pass-focus.ts';
import { Button } from './button.tsx';

/** Above a form that shows what was written before it was left. */
export function KeptNote({ discard }: { discard?: () => void }) {
  const element = useRef<HTMLDivElement>(null);
  usePassFocus(element);
  return (
    <div
      ref={element}
      role="status"
      className="flex flex-wrap items-center justify-between gap-2 rounded-lg bg-accent-soft px-3 py-2 text-accent-ink"
    >
      <p>
        <Trans>What you wrote before is here again. It has not been saved.</Trans>
      </p>
      {discard && (
        <Button small onClick={discard}>
          <Trans>Discard</Trans>
        </Button>
      )}
    </div>
  );
}
