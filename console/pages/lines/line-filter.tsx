import { useLingui } from '@lingui/react/macro';
import { useDeferredValue } from 'react';
import { SearchBox } from '#console/components/search-box.tsx';
import { isDoubted, type Line, lineAddress, lineName, lineState, needsAttention } from '#console/lib/line.ts';
import { searchForm } from '#console/lib/search-form.ts';
import { useSearchChange, useSearchParam } from '#console/lib/search.ts';
import { statusName } from '#console/lib/status-names.ts';

/** Fewer lines are seen at a glance. */
const FEW = 8;
const TROUBLE = 'trouble';

/** A search among lines and a filter by their state, kept in the address. @param textOf what else is searched. */
export function useLineFilter<L extends Line>(
  lines: readonly L[] | undefined,
  textOf: (line: L) => string = () => '',
): { shown: L[] | undefined; isFiltered: boolean; filter: React.ReactNode } {
  const { t } = useLingui();
  const [search] = useSearchParam('search');
  const [state] = useSearchParam('state');
  const change = useSearchChange();
  const searched = useDeferredValue(searchForm(search));
  const hasTrouble = (line: Line): boolean => needsAttention(line) || isDoubted(line);
  const matches = (line: L): boolean =>
    searchForm(`${lineName(line)} ${line.phone ?? ''} ${lineAddress(line) ?? ''} ${textOf(line)}`).includes(
      searched,
    ) &&
    (state === '' || (state === TROUBLE ? hasTrouble(line) : lineState(line) === state));
  const states = [...new Set((lines ?? []).map(lineState))].toSorted();
  const isFiltered = search !== '' || state !== '';
  return {
    shown: lines?.filter(matches),
    isFiltered,
    filter:
      (lines?.length ?? 0) <= FEW && !isFiltered ? null : (
        <div role="group" aria-label={t`Filter`} className="flex shrink-0 flex-wrap gap-2 px-4 pb-3">
          <SearchBox label={t`Search lines`} value={search} onChange={(next) => change({ search: next })} />
          <select
            aria-label={t`State`}
            className="input-box w-48 py-0"
            value={state}
            onChange={(event) => change({ state: event.target.value })}
          >
            <option value="">{t`Any state`}</option>
            <option value={TROUBLE}>{t`Needs attention`}</option>
            {states.map((one) => (
              <option key={one} value={one}>
                {statusName(one)}
              </option>
            ))}
          </select>
        </div>
      ),
  };
}
