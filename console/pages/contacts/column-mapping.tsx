import { Trans, useLingui } from '@lingui/react/macro';
import { classes } from '#console/components/class-names.ts';
import type { CsvStart } from '#console/lib/csv-start.ts';
import { columnField } from '#domain/shared/lead-columns.ts';
import { COLUMN_LABELS, MAPPED_FIELDS } from './lead-fields.tsx';

const CUSTOM = 'custom';
const LEFT_OUT = 'left-out';

/** What the API makes of a column that is sent by this name. */
const meaningOf = (name: string): string => (name === '' ? LEFT_OUT : (columnField(name) ?? CUSTOM));

/** Whether a column contains phone numbers or email addresses, without which the API imports nothing. */
export const hasAddresses = (names: readonly string[]): boolean =>
  names.some((name) => ['phone', 'email'].includes(meaningOf(name)));

/** What each column of a file becomes: a field of leads, a custom field, or nothing. */
export function ColumnMapping({
  start: { header, example },
  names,
  onChange,
}: {
  start: CsvStart;
  /** The names that are sent: those of the file until another is chosen; empty for what is left out. */
  names: readonly string[];
  onChange: (names: readonly string[]) => void;
}) {
  const { t } = useLingui();
  return (
    <fieldset>
      <legend className="mb-1.5 font-medium">
        <Trans>Columns</Trans>
      </legend>
      <ul className="max-h-64 divide-y divide-line scroll-y rounded-lg border border-line">
        {header.map((column, index) => {
          const name = column || index + 1;
          const own = meaningOf(column);
          const meaning = meaningOf(names[index] ?? '');
          return (
            <li key={index} className="flex items-center gap-3 px-3 py-2">
              <div className="min-w-0 flex-1">
                <p className={classes('truncate', meaning === LEFT_OUT && 'line-through opacity-70')}>
                  {column || t`Without a name`}
                </p>
                <p className="truncate text-xs text-muted">{example[index] || '–'}</p>
              </div>
              <select
                aria-label={t`Column ${name}`}
                className="input-box w-44 shrink-0"
                value={meaning}
                onChange={({ target: { value } }) =>
                  onChange(names.with(index, value === own ? column : value === LEFT_OUT ? '' : value))
                }
              >
                {MAPPED_FIELDS.map((field) => (
                  <option key={field} value={field}>
                    {t(COLUMN_LABELS[field])}
                  </option>
                ))}
                {own === CUSTOM && (
                  <option value={CUSTOM}>
                    <Trans>Custom field</Trans>
                  </option>
                )}
                <option value={LEFT_OUT}>
                  <Trans>Leave out</Trans>
                </option>
              </select>
            </li>
          );
        })}
      </ul>
      <p className="mt-1.5 text-[0.8125rem] text-muted">
        {hasAddresses(names)
          ? t`The fields were recognized by the names of the columns.`
          : t`Choose the column that contains phone numbers or email addresses.`}
      </p>
    </fieldset>
  );
}
