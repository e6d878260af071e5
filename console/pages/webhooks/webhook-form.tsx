import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from '#console/components/button.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import { FormError, generalErrorOf } from '#console/components/field.tsx';
import { EVENT_NAMES } from './webhook.ts';
import { FIELDS, type Values, WebhookFields } from './webhook-fields.tsx';

const FORM = 'webhook-form';
const NEW: Values = { name: '', url: '', events: EVENT_NAMES };

/** Asks for a new webhook, then shows its signing secret. */
export function WebhookForm({
  close,
  create,
  secrets,
  busy,
  error,
  fields = [],
  children,
}: {
  close: () => void;
  create: (input: Omit<Values, 'name'> & { name?: string }) => void;
  /** Once it was created. */
  secrets: ReactNode;
  busy: boolean;
  error: unknown;
  /** The names of the fields in `children`. */
  fields?: readonly string[];
  /** More fields, before those of every webhook. */
  children?: ReactNode;
}) {
  const [values, setValues] = useState(NEW);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const { name, ...required } = values;
    create({ ...required, ...(name.trim() !== '' && { name: name.trim() }) });
  };
  if (secrets)
    return (
      <Dialog
        open
        onClose={close}
        title="The webhook was added"
        footer={
          <Button kind="primary" onClick={close}>
            Done
          </Button>
        }
      >
        {secrets}
      </Dialog>
    );
  return (
    <Dialog
      open
      onClose={close}
      title="Add a webhook"
      description="Events are sent to the URL as they happen, as signed POST requests."
      footer={
        <Button kind="primary" type="submit" form={FORM} busy={busy}>
          Add
        </Button>
      }
    >
      <form id={FORM} noValidate className="flex flex-col gap-4" onSubmit={submit}>
        {children}
        <WebhookFields values={values} onChange={setValues} error={error} />
        <FormError>{generalErrorOf(error, [...FIELDS, ...fields])}</FormError>
      </form>
    </Dialog>
  );
}
