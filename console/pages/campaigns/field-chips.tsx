import { useLingui } from '@lingui/react/macro';
import type { RefObject } from 'react';
import { useRead } from '#console/api/queries.ts';
import { inserted } from '#console/lib/insert.ts';

/** What every lead may have. */
const STANDARD = ['firstName', 'lastName', 'companyName', 'jobTitle'] as const;
/** How many leads of the list are looked at for their own fields. */
const LOOKED_AT = 200;

/** The fields that the leads of a list have, to be inserted where somebody writes. */
export function FieldChips({
  listId,
  box,
  text,
  onChange,
}: {
  listId: string;
  box: RefObject<HTMLTextAreaElement | null>;
  text: string;
  onChange: (text: string) => void;
}) {
  const { t } = useLingui();
  const { data } = useRead(
    'GET /api/leads',
    { query: { listId, limit: LOOKED_AT } },
    { enabled: listId !== '' },
  );
  const leads = data?.leads ?? [];
  const own = new Set(leads.flatMap(({ customFields }) => Object.keys(customFields)));
  const fields = [
    ...STANDARD.filter((field) => field === 'firstName' || leads.some((lead) => lead[field])),
    // Others need another notation.
    ...[...own].filter((name) => /^[A-Za-z_]\w*$/.test(name)).map((name) => `customFields.${name}`),
  ];
  return (
    <ul aria-label={t`Insert a field`} className="flex flex-wrap gap-1">
      {fields.map((field) => (
        <li key={field}>
          <button
            type="button"
            className="h-6 rounded-full border border-line px-2 font-mono text-xs text-muted hover:bg-hover hover:text-ink"
            onClick={() => inserted(box.current, text, `{{ ${field} }}`, onChange)}
          >
            {field.replace('customFields.', '')}
          </button>
        </li>
      ))}
    </ul>
  );
}
