import { useLingui } from '@lingui/react/macro';
import { CheckList } from '#console/components/check-list.tsx';
import { issueOf, TextField } from '#console/components/field.tsx';
import { EVENTS, type Webhook } from './webhook.ts';

export type Values = Pick<Webhook, 'name' | 'url' | 'events'>;

/** Whose errors are shown at the field. */
export const FIELDS = ['url', 'name', 'events'];

/** The fields of a webhook, to create it or to change it. */
export function WebhookFields({
  values,
  onChange,
  error,
}: {
  values: Values;
  onChange: (values: Values) => void;
  /** The error of the request that saves them. */
  error: unknown;
}) {
  const { t } = useLingui();
  return (
    <>
      <TextField
        label={t`URL`}
        name="url"
        type="url"
        required
        placeholder="https://example.com/webhooks"
        value={values.url}
        onChange={(event) => onChange({ ...values, url: event.target.value })}
        error={issueOf(error, 'url')}
      />
      <TextField
        label={t`Name (optional)`}
        name="name"
        maxLength={200}
        value={values.name}
        onChange={(event) => onChange({ ...values, name: event.target.value })}
        error={issueOf(error, 'name')}
      />
      <CheckList
        legend={t`Events`}
        options={EVENTS}
        value={values.events}
        onChange={(events) => onChange({ ...values, events })}
        error={issueOf(error, 'events')}
      />
    </>
  );
}
