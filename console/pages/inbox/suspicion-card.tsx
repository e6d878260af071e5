import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { Ban } from 'lucide-react';
import { useRef, useState } from 'react';
import { Button } from '#console/components/button.tsx';
import { ConfirmDialog } from '#console/components/confirm.tsx';
import { usePassFocus } from '#console/lib/pass-focus.ts';
import { useSeen, useShortcuts } from '#console/lib/shortcuts.ts';
import { type Suspicion, useDecision } from './suspicion.ts';

/** A reply that asks to be left alone in other words than STOP: to be confirmed or dismissed. */
export default function SuspicionCard({ suspicion: { _id: id, message } }: { suspicion: Suspicion }) {
  const { t } = useLingui();
  const card = useRef<HTMLElement>(null);
  usePassFocus(card);
  const { act, isPending } = useDecision(id);
  const isSeen = useSeen();
  const [asks, setAsks] = useState(false);
  useShortcuts(isSeen ? { o: () => setAsks(true), d: () => act('dismiss') } : {});

  return (
    <section ref={card} aria-label={t`Suspected opt-out`} className="mb-3 rounded-xl bg-warn-soft p-3">
      <h3 className="flex items-center gap-1.5 font-medium text-warn">
        <Ban className="size-4" aria-hidden="true" /> <Trans>Does this contact want no more messages?</Trans>
      </h3>
      <p className="my-2 line-clamp-3 break-words">“{message}”</p>
      <p className="mb-2 text-muted">
        <Trans>Campaigns to them wait until you decide.</Trans>
      </p>
      <div className="flex flex-wrap gap-2">
        <Button
          small
          kind="primary"
          title={isSeen ? 'o' : undefined}
          busy={isPending}
          onClick={() => setAsks(true)}
        >
          <Trans>Opt out</Trans>
        </Button>
        <Button small title={isSeen ? 'd' : undefined} onClick={() => act('dismiss')}>
          <Trans>Dismiss</Trans>
        </Button>
      </div>
      <ConfirmDialog
        open={asks}
        close={() => setAsks(false)}
        title={t`Opt this contact out?`}
        confirm={t`Opt out`}
        onConfirm={() => {
          setAsks(false);
          act('confirm');
        }}
      >
        <p>
          <Trans>What waits to be sent to them is canceled, and nothing can be sent to them any more.</Trans>
        </p>
      </ConfirmDialog>
    </section>
  );
}

/** How many contacts wait for a decision; opens the one who has waited longest. */
export function SuspicionsBanner({
  suspicions,
  count,
  open,
}: {
  suspicions: readonly Suspicion[];
  count: number;
  open: (address: string) => void;
}) {
  const longest = suspicions.at(-1);
  if (!longest) return null;
  return (
    <button
      type="button"
      onClick={() => open(longest.address)}
      className="flex shrink-0 items-center gap-2 border-b border-line bg-warn-soft px-4 py-2 text-left font-medium text-warn"
    >
      <Ban className="size-4 shrink-0" aria-hidden="true" />{' '}
      <Plural
        value={count}
        one="# contact may want no more messages"
        other="# contacts may want no more messages"
      />
    </button>
  );
}
