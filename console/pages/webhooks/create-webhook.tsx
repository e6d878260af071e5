import { type FormEvent, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import { FormError, generalErrorOf } from '#console/components/field.tsx';
import { Secret } from './secret.tsx';
import { EVENT_NAMES } from './webhook.ts';
import { FIELDS, type Values, WebhookFields } from './webhook-fields.tsx';

const FORM = 'create-webhook';
const NEW: Values = { name: '', url: '', events: EVENT_NAMES };

/** Registers a webhook, then shows its signing secret. */
export function CreateWebhook({ open, close }: { open: boolean; close: () => void }) {
  const [values, setValues] = useState(NEW);
  const create = useWrite('POST /api/webhooks', { refresh: ['GET /api/webhooks'] });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const { name, ...required } = values;
    create.mutate({ body: { ...required, ...(name.trim() !== '' && { name: name.trim() }) } });
  };
  const end = (): void => {
    close();
    create.reset();
    setValues(NEW);
  };
  return (
    <>
      <Dialog
        open={open && !create.data}
        onClose={end}
        title="Add a webhook"
        description="Events are sent to the URL as they happen, as signed POST requests."
        footer={
          <Button kind="primary" type="submit" form={FORM} busy={create.isPending}>
            Add
          </Button>
        }
      >
        <form id={FORM} noValidate className="flex flex-col gap-4" onSubmit={submit}>
          <WebhookFields values={values} onChange={setValues} error={create.error} />
          <FormError>{generalErrorOf(create.error, FIELDS)}</FormError>
        </form>
      </Dialog>
      <Dialog
        open={open && create.data !== undefined}
        onClose={end}
        title="The webhook was added"
        footer={
          <Button kind="primary" onClick={end}>
            Done
          </Button>
        }
      >
        {create.data && <Secret secret={create.data.secret} />}
      </Dialog>
    </>
  );
}
