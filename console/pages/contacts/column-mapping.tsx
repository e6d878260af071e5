import { classes } from '#console/components/class-names.ts';
import type { CsvStart } from '#console/lib/csv-start.ts';
import { LABELS } from './lead-fields.tsx';
import { FIELDS } from './lead.ts';

/** What a column becomes, by the name that is sent for it. */
const CHOICES = FIELDS.map((name) => ({ value: name, label: LABELS[name] }));

/** What each column of a file is: by its own name, a field of leads, or left out. */
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
  return (
    <fieldset>
      <legend className="mb-1.5 font-medium">Columns</legend>
      <ul className="max-h-64 divide-y divide-line scroll-y rounded-lg border border-line">
        {header.map((column, index) => (
          <li key={index} className="flex items-center gap-3 px-3 py-2">
            <div className="min-w-0 flex-1">
              <p className={classes('truncate', names[index] === '' && 'line-through opacity-70')}>
                {column || 'Without a name'}
              </p>
              <p className="truncate text-xs text-muted">{example[index] || '–'}</p>
            </div>
            <select
              aria-label={`Column ${column || index + 1}`}
              className="input-box w-44 shrink-0"
              value={names[index] === column ? 'own' : names[index]}
              onChange={({ target: { value } }) =>
                onChange(names.with(index, value === 'own' ? column : value))
              }
            >
              {column !== '' && <option value="own">By its name</option>}
              <option value="">Leave out</option>
              {CHOICES.map(({ value, label }) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </li>
        ))}
      </ul>
      <p className="mt-1.5 text-[0.8125rem] text-muted">
        By their names are recognized: first and last name, email, phone, company, job title, notes and owner
        email. Other names become custom fields.
      </p>
    </fieldset>
  );
}
