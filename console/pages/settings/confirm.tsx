import type { ReactNode } from 'react';
import { Button } from '#console/components/button.tsx';
import { Dialog } from '#console/components/dialog.tsx';

/** Asks before something that the API cannot take back. */
export const Confirm = ({
  open,
  title,
  action,
  busy,
  onConfirm,
  close,
  children,
}: {
  open: boolean;
  title: string;
  /** The text of the button. */
  action: string;
  busy: boolean;
  onConfirm: () => void;
  close: () => void;
  children: ReactNode;
}) => (
  <Dialog
    open={open}
    onClose={close}
    title={title}
    footer={
      <>
        <Button onClick={close}>Cancel</Button>
        <Button kind="danger" busy={busy} onClick={onConfirm}>
          {action}
        </Button>
      </>
    }
  >
    {children}
  </Dialog>
);
