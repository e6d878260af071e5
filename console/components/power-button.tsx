import { Trans, useLingui } from '@lingui/react/macro';
import { Power } from 'lucide-react';
import { Button } from './button.tsx';
import { toast, toastError } from './toast.tsx';

/** Turns a line or a webhook on or off. Turning it off can be undone. */
export function PowerButton({
  name,
  isActive,
  busy,
  set,
}: {
  name: string;
  isActive: boolean;
  busy: boolean;
  set: (isActive: boolean, callbacks: { onSuccess: () => void; onError: typeof toastError }) => void;
}) {
  const { t } = useLingui();
  const change = (to: boolean): void =>
    set(to, {
      onSuccess: () =>
        toast(to ? t`${name} is on` : t`${name} is off`, to ? {} : { undo: () => change(true) }),
      onError: toastError,
    });
  return (
    <Button
      small
      busy={busy}
      icon={<Power className="size-4" aria-hidden="true" />}
      onClick={() => change(!isActive)}
    >
      {isActive ? <Trans>Turn off</Trans> : <Trans>Turn on</Trans>}
    </Button>
  );
}
