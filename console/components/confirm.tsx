import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

/** A button that asks first, for what the API cannot undo. */
export function ConfirmButton({
  label,
  icon,
  title,
  confirm,
  kind = 'danger',
  busy = false,
  onConfirm,
  children,
}: {
  label: string;
  icon?: ReactNode;
  /** The question. */
  title: string;
  /** The answer that acts. */
  confirm: string;
  kind?: 'secondary' | 'danger';
  busy?: boolean;
  onConfirm: () => void;
  /** What happens then. */
  children: ReactNode;
}) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button small kind={kind} icon={icon} busy={busy} onClick={() => setAsking(true)}>
        {label}
      </Button>
      <Dialog
        open={asking}
        onClose={() => setAsking(false)}
        title={title}
        footer={
          <>
            <Button onClick={() => setAsking(false)}>Go back</Button>
            <Button
              kind={kind}
              onClick={() => {
                setAsking(false);
                onConfirm();
              }}
            >
              {confirm}
            </Button>
          </>
        }
      >
        {children}
      </Dialog>
    </>
  );
}
