import { type ComponentProps, type FormEvent, useId } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { FormError, generalErrorOf } from './field.tsx';

/** A form in a dialog, with the button that submits it. */
export function FormDialog({
  submit,
  busy,
  disabled = false,
  noValidate = false,
  error,
  fields,
  onSubmit,
  children,
  ...dialog
}: Omit<ComponentProps<typeof Dialog>, 'footer'> & {
  /** The label of the button. */
  submit: string;
  busy: boolean;
  disabled?: boolean;
  /** Leaves checking to the API. */
  noValidate?: boolean;
  /** The error of the request that the form makes. */
  error: unknown;
  /** The paths whose errors are shown at their fields; others are shown below the form. */
  fields: readonly string[];
  onSubmit: (event: FormEvent<HTMLFormElement>) => void;
}) {
  const id = useId();
  return (
    <Dialog
      {...dialog}
      footer={
        <Button kind="primary" type="submit" form={id} busy={busy} disabled={disabled}>
          {submit}
        </Button>
      }
    >
      <form
        id={id}
        noValidate={noValidate}
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit(event);
        }}
      >
        {children}
        <FormError>{generalErrorOf(error, fields)}</FormError>
      </form>
    </Dialog>
  );
}
