import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useRead } from '#console/api/queries.ts';
import { issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { lineName } from '#console/lib/line.ts';
import type { Webhook } from './webhook.ts';

export type Delivering = Pick<Webhook, 'retries' | 'lineIds' | 'campaignIds' | 'tags'>;

export const DELIVERING: Delivering = { retries: 'none', lineIds: [], campaignIds: [], tags: [] };

/** Whose errors are shown at the field. */
export const DELIVERING_FIELDS = ['retries', 'lineIds', 'campaignIds', 'tags'];

/** Whether deliveries that fail are repeated, and which of the events the webhook gets. */
export function WebhookFilters({
  values,
  onChange,
  error,
}: {
  values: Delivering;
  onChange: (values: Delivering) => void;
  error: unknown;
}) {
  const { t } = useLingui();
  const lines = useRead('GET /api/lines/by-user', {}).data?.lines ?? [];
  const campaigns = useRead('GET /api/campaigns', { query: { limit: 200 } }).data?.campaigns ?? [];
  const [tags, setTags] = useState(values.tags.join(', '));
  const { lineIds, campaignIds } = values;
  const isFiltered = lineIds.length + campaignIds.length + values.tags.length > 0;
  return (
    <>
      <SelectField
        label={t`If a delivery fails`}
        value={values.retries}
        options={[
          { value: 'none', label: t`It is not repeated` },
          { value: 'standard', label: t`It is repeated, for up to a day` },
        ]}
        onChange={(event) => onChange({ ...values, retries: event.target.value as Delivering['retries'] })}
        error={issueOf(error, 'retries')}
      />
      <details open={isFiltered || undefined}>
        <summary className="cursor-pointer rounded font-medium">
          <Trans>Only some of the events</Trans>
        </summary>
        <div className="mt-3 flex flex-col gap-4">
          <Ticks
            legend={t`Only about these lines`}
            options={lines.map((line) => ({ id: line._id, name: lineName(line) }))}
            value={lineIds}
            onChange={(next) => onChange({ ...values, lineIds: next })}
          />
          <Ticks
            legend={t`Only about these campaigns`}
            options={campaigns.map(({ _id, name }) => ({ id: _id, name }))}
            value={campaignIds}
            onChange={(next) => onChange({ ...values, campaignIds: next })}
          />
          <TextField
            label={t`Only about contacts with a tag`}
            hint={t`Several are separated by commas; one of them is enough.`}
            value={tags}
            onChange={(event) => {
              setTags(event.target.value);
              const named = event.target.value.split(',').map((tag) => tag.trim());
              onChange({ ...values, tags: named.filter((tag) => tag !== '') });
            }}
            error={issueOf(error, 'tags')}
          />
        </div>
      </details>
    </>
  );
}

/** Names to tick; none means all. */
function Ticks({
  legend,
  options,
  value,
  onChange,
}: {
  legend: string;
  options: readonly { id: string; name: string }[];
  value: readonly string[];
  onChange: (value: string[]) => void;
}) {
  if (options.length === 0) return null;
  return (
    <fieldset>
      <legend className="mb-1.5 text-[0.8125rem] text-muted">{legend}</legend>
      <div className="max-h-48 divide-y divide-line rounded-lg border border-line scroll-y">
        {options.map(({ id, name }) => (
          <label key={id} className="flex cursor-pointer items-center gap-2.5 px-3 py-1.5">
            <input
              type="checkbox"
              className="size-4 shrink-0 accent-accent"
              checked={value.includes(id)}
              onChange={(event) =>
                onChange(event.target.checked ? [...value, id] : value.filter((other) => other !== id))
              }
            />
            <span className="min-w-0 truncate">{name}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
