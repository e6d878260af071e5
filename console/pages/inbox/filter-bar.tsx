import { Bookmark, BookmarkPlus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useIdentity } from '#console/api/workspace.ts';
import { IconButton } from '#console/components/button.tsx';
import { TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { Menu } from '#console/components/menu.tsx';
import { SearchBox } from '#console/components/search-box.tsx';
import { toast } from '#console/components/toast.tsx';
import { enteredIn } from '#console/lib/form.ts';
import { type SavedFilter, savedFilters, saveFilters, VIEWS } from './views.ts';

interface Props {
  view: string;
  search: string;
  drafts: number;
  unread: number;
  onChange: (next: { view: string; search: string }) => void;
}

/** One search box, the view, and the filters that a user has saved. */
export function FilterBar({ view, search, drafts, unread, onChange }: Props) {
  const count: Record<string, number> = { drafts, unread };
  const [applied, setApplied] = useState(0);
  return (
    <div role="group" aria-label="Filter" className="flex shrink-0 flex-col gap-2 border-b border-line p-2">
      {/* A saved filter replaces what is in the box. */}
      <SearchBox
        key={applied}
        label="Search conversations"
        value={search}
        onChange={(next) => onChange({ view, search: next })}
      />
      <div className="flex items-center gap-1">
        <select
          aria-label="View"
          className="input-box h-8 flex-1 py-0"
          value={view}
          onChange={(event) => onChange({ view: event.target.value, search })}
        >
          {VIEWS.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
              {(count[value] ?? 0) > 0 && ` (${count[value]})`}
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

function SavedFilters({ view, search, onChange }: Pick<Props, 'view' | 'search' | 'onChange'>) {
  const { _id: workspaceId } = useIdentity().workspace;
  const [saved, setSaved] = useState(() => savedFilters(workspaceId));
  const [naming, setNaming] = useState(false);
  const store = (next: SavedFilter[]): void => {
    saveFilters(workspaceId, next);
    setSaved(next);
  };
  const current = saved.find((filter) => filter.view === view && filter.search === search);
  return (
    <>
      <Menu
        trigger={
          <IconButton label="Saved filters">
            <Bookmark className="size-4" aria-hidden="true" />
          </IconButton>
        }
        groups={[
          ...(saved.length > 0
            ? [
                {
                  title: 'Saved filters',
                  items: saved.map((filter) => ({
                    label: filter.name,
                    checked: filter === current,
                    onSelect: () => onChange(filter),
                  })),
                },
              ]
            : []),
          {
            items: [
              current
                ? {
                    label: `Delete “${current.name}”`,
                    icon: <Trash2 className="size-4" aria-hidden="true" />,
                    onSelect: () => store(saved.filter((filter) => filter !== current)),
                  }
                : {
                    label: 'Save this filter',
                    icon: <BookmarkPlus className="size-4" aria-hidden="true" />,
                    onSelect: () => setNaming(true),
                  },
            ],
          },
        ]}
      />
      <FormDialog
        open={naming}
        onClose={() => setNaming(false)}
        title="Save this filter"
        description="It is kept in this browser."
        submit="Save"
        busy={false}
        error={null}
        fields={[]}
        onSubmit={(event) => {
          const { name } = enteredIn(event.currentTarget);
          if (name === undefined) return;
          store([...saved.filter((filter) => filter.name !== name), { name, view, search }]);
          setNaming(false);
          toast(`Saved “${name}”`);
        }}
      >
        <TextField label="Name" name="name" required maxLength={50} />
      </FormDialog>
    </>
  );
}
