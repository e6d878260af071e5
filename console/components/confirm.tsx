import { Trans } from '@lingui/react/macro';
import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

interface Confirmation {
  /** The question. */
  title: string;
  /** The label of the button that confirms. */
  confirm: string;
  kind?: 'primary' | 'secondary' | 'danger';
  busy?: boolean;
  onConfirm: () => void;
  /** What happens after confirming. */
  children: ReactNode;
}

/** Asks for confirmation, for actions that the API cannot undo. */
export const ConfirmDialog = ({
  open,
  title,
  confirm,
  kind = 'danger',
  busy = false,
  onConfirm,
  close,
  children,
}: Confirmation & { open: boolean; close: () => void }) => (
  <Dialog
    open={open}
    onClose={close}
    title={title}
    footer={
      <>
        <Button onClick={close}>
          <Trans>Go back</Trans>
        </Button>
        <Button kind={kind} busy={busy} onClick={onConfirm}>
          {confirm}
        </Button>
      </>
    }
  >
    {children}
  </Dialog>
);

/** A button that asks for confirmation. The dialog closes when it is confirmed. */
export function ConfirmButton({
  label,
  icon,
  kind = 'danger',
  busy = false,
  onConfirm,
  ...dialog
}: Confirmation & { label: string; icon?: ReactNode }) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button small kind={kind} icon={icon} busy={busy} onClick={() => setAsking(true)}>
        {label}
      </Button>
      <ConfirmDialog
        {...dialog}
        kind={kind}
        open={asking}
        close={() => setAsking(false)}
        onConfirm={() => {
          setAsking(false);
          onConfirm();
        }}
      />
    </>
  );
}
