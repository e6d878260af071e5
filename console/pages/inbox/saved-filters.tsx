import { Trans, useLingui } from '@lingui/react/macro';
import { Bookmark, BookmarkPlus, Trash2, UserRound, UsersRound } from 'lucide-react';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { IconButton } from '#console/components/button.tsx';
import { issueOf, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { Menu } from '#console/components/menu.tsx';
import type { MenuItem } from '#console/components/menu-popup.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { enteredIn } from '#console/lib/form.ts';
import { useUserId } from './team.ts';
import type { ViewName } from './views.ts';

type SavedFilter = ResponseOf<'GET /api/saved-filters'>['savedFilters'][number];

const REFRESH = ['GET /api/saved-filters'] as const;
const FIELDS = ['name', 'shared'];

interface Props {
  view: ViewName;
  search: string;
  onChange: (filter: { view: ViewName; search: string }) => void;
}

/** The filters that the team shares and those of the user: applies, saves, shares and deletes them. */
export function SavedFilters({ view, search, onChange }: Props) {
  const { t } = useLingui();
  const userId = useUserId();
  const { data } = useRead('GET /api/saved-filters', { query: { limit: 200 } });
  const saved = data?.savedFilters ?? [];
  const [naming, setNaming] = useState(false);
  const current = saved.find((filter) => filter.view === view && filter.search === search);
  const update = useWrite('PATCH /api/saved-filters/{id}', { refresh: REFRESH });
  const remove = useWrite('DELETE /api/saved-filters/{id}', { refresh: REFRESH });
  const save = useWrite('POST /api/saved-filters', { refresh: REFRESH });

  const groupOf = (title: string, shared: boolean) => ({
    title,
    items: saved
      .filter((filter) => filter.shared === shared)
      .toSorted((a, b) => a.name.localeCompare(b.name))
      .map((filter) => ({
        label: filter.name,
        checked: filter === current,
        onSelect: () => onChange(filter),
      })),
  });
  const share = ({ _id, name, shared }: SavedFilter): MenuItem => ({
    label: shared ? t`Keep “${name}” to yourself` : t`Share “${name}” with the team`,
    icon: shared ? (
      <UserRound className="size-4" aria-hidden="true" />
    ) : (
      <UsersRound className="size-4" aria-hidden="true" />
    ),
    onSelect: () =>
      update.mutate(
        { params: { id: _id }, body: { shared: !shared } },
        {
          onSuccess: () => toast(shared ? t`“${name}” is only yours` : t`The team sees “${name}”`),
          onError: toastError,
        },
      ),
  });
  const discard = ({ _id, name, shared }: SavedFilter): MenuItem => ({
    label: t`Delete “${name}”`,
    icon: <Trash2 className="size-4" aria-hidden="true" />,
    onSelect: () =>
      remove.mutate(
        { params: { id: _id } },
        {
          onSuccess: () =>
            toast(t`Deleted “${name}”`, {
              undo: () => save.mutate({ body: { name, view, search, shared } }, { onError: toastError }),
            }),
          onError: toastError,
        },
      ),
  });

  return (
    <>
      <Menu
        trigger={
          <IconButton label={t`Saved filters`}>
            <Bookmark className="size-4" aria-hidden="true" />
          </IconButton>
        }
        groups={[
          ...[groupOf(t`Of the team`, true), groupOf(t`Yours`, false)].filter(
            ({ items }) => items.length > 0,
          ),
          {
            items: current
              ? [...(userId === null ? [] : [share(current)]), discard(current)]
              : [
                  {
                    label: t`Save this filter`,
                    icon: <BookmarkPlus className="size-4" aria-hidden="true" />,
                    onSelect: () => setNaming(true),
                  },
                ],
          },
        ]}
      />
      <FormDialog
        open={naming}
        onClose={() => {
          setNaming(false);
          save.reset();
        }}
        title={t`Save this filter`}
        description={t`The view and what is in the search box.`}
        submit={t`Save`}
        busy={save.isPending}
        error={save.error}
        fields={FIELDS}
        onSubmit={(event) => {
          const { name = '', shared } = enteredIn(event.currentTarget);
          const isShared = userId === null || shared !== undefined;
          save.mutate(
            { body: { name, view, search, shared: isShared } },
            {
              onSuccess: () => {
                setNaming(false);
                toast(isShared ? t`Saved “${name}” for the team` : t`Saved “${name}”`);
              },
            },
          );
        }}
      >
        <TextField label={t`Name`} name="name" required maxLength={50} error={issueOf(save.error, 'name')} />
        {userId !== null && (
          <label className="flex items-center gap-2.5">
            <input type="checkbox" name="shared" className="size-4 accent-accent" />
            <Trans>Share it with the team</Trans>
          </label>
        )}
      </FormDialog>
    </>
  );
}
