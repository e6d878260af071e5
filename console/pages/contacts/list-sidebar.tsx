import { Trans, useLingui } from '@lingui/react/macro';
import { Plus } from 'lucide-react';
import { IconButton } from '#console/components/button.tsx';
import { numberOf } from '#console/lib/format.ts';
import type { LeadList } from './lead.ts';

/** The lists: a column beside the leads, on a phone a choice above them. */
export function ListSidebar({
  lists,
  selected,
  onSelect,
  onNew,
}: {
  lists: readonly LeadList[];
  selected: string;
  onSelect: (listId: string) => void;
  onNew: () => void;
}) {
  const { t } = useLingui();
  const add = (
    <IconButton label={t`New list`} onClick={onNew}>
      <Plus className="size-4" aria-hidden="true" />
    </IconButton>
  );
  return (
    <>
      <div className="flex items-center gap-2 border-b border-line p-2 md:hidden">
        <select
          aria-label={t`List`}
          className="input-box"
          value={selected}
          onChange={(event) => onSelect(event.target.value)}
        >
          <option value="">
            <Trans>All leads</Trans>
          </option>
          {lists.map(({ _id, name, leadCount }) => (
            <option key={_id} value={_id}>
              {name} ({numberOf(leadCount)})
            </option>
          ))}
        </select>
        {add}
      </div>
      <nav aria-label={t`Lists`} className="w-60 shrink-0 scroll-y border-r border-line p-2 max-md:hidden">
        <div className="flex items-center justify-between pl-2.5">
          <h2 className="text-xs font-medium text-muted">
            <Trans>Lists</Trans>
          </h2>
          {add}
        </div>
        <ul className="flex flex-col gap-0.5">
          <li>
            <Entry name={t`All leads`} isSelected={selected === ''} onSelect={() => onSelect('')} />
          </li>
          {lists.map(({ _id, name, leadCount }) => (
            <li key={_id}>
              <Entry
                name={name}
                count={leadCount}
                isSelected={selected === _id}
                onSelect={() => onSelect(_id)}
              />
            </li>
          ))}
        </ul>
      </nav>
    </>
  );
}

const Entry = ({
  name,
  count,
  isSelected,
  onSelect,
}: {
  name: string;
  count?: number;
  isSelected: boolean;
  onSelect: () => void;
}) => (
  <button
    type="button"
    aria-current={isSelected || undefined}
    onClick={onSelect}
    className="flex w-full items-center gap-2 rounded-lg px-2.5 py-1.5 text-left -outline-offset-2 hover:bg-hover aria-[current]:bg-selected aria-[current]:font-medium"
  >
    <span className="min-w-0 flex-1 truncate">{name}</span>
    {count !== undefined && <span className="text-xs text-muted tabular-nums">{numberOf(count)}</span>}
  </button>
);
