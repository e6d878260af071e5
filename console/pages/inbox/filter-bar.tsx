import { useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { classes } from '#console/components/class-names.ts';
import { numberOf } from '#console/lib/format.ts';
import { SearchBox } from '#console/components/search-box.tsx';
import { SavedFilters } from './saved-filters.tsx';
import { VIEWS, type ViewName, viewOf } from './views.ts';

/** Those of which somebody wants to see the number all the time. */
const IN_SIGHT: readonly ViewName[] = ['open', 'unread', 'mine', 'unanswered', 'drafts'];

/** Somebody looks for a contact who is on the phone. */
const SEARCH_PAUSE_MS = 100;

interface Props {
  view: ViewName;
  search: string;
  /** How many conversations are in a view, by its name. */
  counts: Partial<Record<ViewName, number>>;
  onChange: (next: { view: ViewName; search: string }) => void;
}

/** One search box, the view, and the filters that somebody has saved. */
export function FilterBar({ view, search, counts, onChange }: Props) {
  const { t } = useLingui();
  const [applied, setApplied] = useState(0);
  return (
    <div
      role="group"
      aria-label={t`Filter`}
      className="flex shrink-0 flex-col gap-2 border-b border-line p-2"
    >
      {/* A saved filter replaces what is in the box. */}
      <SearchBox
        key={applied}
        label={t`Search conversations`}
        value={search}
        pauseMs={SEARCH_PAUSE_MS}
        onChange={(next) => onChange({ view, search: next })}
      />
      <ul aria-label={t`Often used`} className="flex flex-wrap gap-1">
        {VIEWS.filter(({ value }) => IN_SIGHT.includes(value)).map(({ value, label }) => (
          <li key={value}>
            <button
              type="button"
              aria-pressed={value === view}
              onClick={() => onChange({ view: value, search })}
              className={classes(
                'flex h-6 items-center gap-1 rounded-full border px-2 text-xs',
                value === view
                  ? 'border-accent bg-accent-soft text-accent-ink'
                  : 'border-line text-muted hover:bg-hover',
              )}
            >
              {t(label)}
              {(counts[value] ?? 0) > 0 && (
                <span className="tabular-nums">{numberOf(counts[value] ?? 0)}</span>
              )}
            </button>
          </li>
        ))}
      </ul>
      <div className="flex items-center gap-1">
        <select
          aria-label={t`View`}
          className="input-box h-8 flex-1 py-0"
          value={view}
          onChange={(event) => onChange({ view: viewOf(event.target.value).value, search })}
        >
          {VIEWS.map(({ value, label }) => (
            <option key={value} value={value}>
              {t(label)}
              {(counts[value] ?? 0) > 0 && ` (${counts[value]})`}
            </option>
          ))}
        </select>
        <SavedFilters
          view={view}
          search={search}
          onChange={(filter) => {
            onChange(filter);
            setApplied(applied + 1);
          }}
        />
      </div>
    </div>
  );
}
