import { useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { issueOf, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import type { LeadList } from './lead.ts';

const REFRESH = ['GET /api/lists'] as const;

/** Creates a list, or changes the one given. */
export function ListForm({
  list,
  close,
  onCreated,
}: {
  list?: LeadList | undefined;
  close: () => void;
  onCreated: (listId: string) => void;
}) {
  const { t } = useLingui();
  const [name, setName] = useState(list?.name ?? '');
  const [description, setDescription] = useState(list?.description ?? '');
  const create = useWrite('POST /api/lists', { refresh: REFRESH });
  const update = useWrite('PATCH /api/lists/{id}', { refresh: REFRESH });
  const error = create.error ?? update.error;
  const submit = (): void => {
    if (list) {
      const before = { name: list.name, description: list.description };
      update.mutate(
        { params: { id: list._id }, body: { name, description } },
        {
          onSuccess: () => {
            toast(t`The list was changed`, {
              undo: () => update.mutate({ params: { id: list._id }, body: before }, { onError: toastError }),
            });
          },
          afterRefetch: close,
        },
      );
      return;
    }
    create.mutate(
      { body: { name, description } },
      {
        onSuccess: ({ list: made }) => {
          const { name: listName } = made;
          toast(t`Created ${listName}`);
        },
        whileShown: ({ list: made }) => {
          close();
          onCreated(made._id);
        },
      },
    );
  };
  return (
    <FormDialog
      open
      onClose={close}
      title={list ? t`Edit the list` : t`New list`}
      submit={list ? t`Save` : t`Create`}
      busy={create.isPending || update.isPending}
      error={error}
      fields={['name', 'description']}
      onSubmit={submit}
    >
      <TextField
        label={t`Name`}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={issueOf(error, 'name')}
      />
      <TextField
        label={t`Description (optional)`}
        value={description}
        onChange={(event) => setDescription(event.target.value)}
        error={issueOf(error, 'description')}
      />
    </FormDialog>
  );
}
