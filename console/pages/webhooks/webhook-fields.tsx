import { useId } from 'react';
import { issueOf, TextField } from '#console/components/field.tsx';
import { EVENT_NAMES, EVENTS, type Webhook } from './webhook.ts';

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
  /** Of the request that saves them. */
  error: unknown;
}) {
  const noteId = useId();
  const issue = issueOf(error, 'events');
  const toggle = (name: Values['events'][number], isOn: boolean): void =>
    onChange({
      ...values,
      events: EVENT_NAMES.filter((known) => (known === name ? isOn : values.events.includes(known))),
    });
  return (
    <>
      <TextField
        label="URL"
        name="url"
        type="url"
        required
        placeholder="https://example.com/webhooks"
        value={values.url}
        onChange={(event) => onChange({ ...values, url: event.target.value })}
        error={issueOf(error, 'url')}
      />
      <TextField
        label="Name (optional)"
        name="name"
        maxLength={200}
        value={values.name}
        onChange={(event) => onChange({ ...values, name: event.target.value })}
        error={issueOf(error, 'name')}
      />
      <fieldset aria-describedby={issue && noteId}>
        <legend className="mb-1.5 font-medium">Events</legend>
        <div className="divide-y divide-line rounded-lg border border-line">
          {EVENT_NAMES.map((name) => (
            <label key={name} className="flex cursor-pointer items-center gap-2.5 px-3 py-2">
              <input
                type="checkbox"
                className="size-4 shrink-0 accent-accent"
                checked={values.events.includes(name)}
                onChange={(event) => toggle(name, event.target.checked)}
              />
              <span className="min-w-0 flex-1">{EVENTS[name]}</span>
              <code className="font-mono text-xs text-muted max-sm:hidden">{name}</code>
            </label>
          ))}
        </div>
        {issue && (
          <p id={noteId} className="mt-1.5 text-[0.8125rem] text-bad">
            {issue}
          </p>
        )}
      </fieldset>
    </>
  );
}
