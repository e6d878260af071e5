import { Trans, useLingui } from '@lingui/react/macro';
import { type ReactNode, useState } from 'react';
import { Button } from '#console/components/button.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { EVENT_NAMES } from './webhook.ts';
import { FIELDS, type Values, WebhookFields } from './webhook-fields.tsx';

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
  more,
}: {
  close: () => void;
  create: (input: Omit<Values, 'name'> & { name?: string }) => void;
  /** Once it was created. */
  secrets: ReactNode;
  busy: boolean;
  error: unknown;
  /** The names of the fields in `children` and `more`. */
  fields?: readonly string[];
  /** More fields, before those of every webhook. */
  children?: ReactNode;
  /** More fields, after them. */
  more?: ReactNode;
}) {
  const { t } = useLingui();
  const [values, setValues] = useState(NEW);
  const submit = (): void => {
    const { name, ...required } = values;
    create({ ...required, ...(name.trim() !== '' && { name: name.trim() }) });
  };
  if (secrets)
    return (
      <Dialog
        open
        onClose={close}
        title={t`The webhook was added`}
        footer={
          <Button kind="primary" onClick={close}>
            <Trans>Done</Trans>
          </Button>
        }
      >
        {secrets}
      </Dialog>
    );
  return (
    <FormDialog
      open
      onClose={close}
      title={t`Add a webhook`}
      description={t`Events are sent to the URL as they happen, as signed POST requests.`}
      submit={t`Add`}
      busy={busy}
      noValidate
      error={error}
      fields={[...FIELDS, ...fields]}
      onSubmit={submit}
    >
      {children}
      <WebhookFields values={values} onChange={setValues} error={error} />
      {more}
    </FormDialog>
  );
}
