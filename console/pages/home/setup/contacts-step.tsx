import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, TextField } from '#console/components/field.tsx';
import { ImportLeads } from '#console/pages/contacts/import-leads.tsx';
import { ImportProgress } from '#console/pages/contacts/import-progress.tsx';

/** Creates a list, and imports a file into it. */
export function ContactsStep() {
  const { t } = useLingui();
  const [name, setName] = useState(t`Contacts`);
  const [target, setTarget] = useState<string | null>(null);
  const [started, setStarted] = useState<{ listId: string; importId: string } | null>(null);
  const lists = useRead('GET /api/lists', {});
  const create = useWrite('POST /api/lists', { refresh: ['GET /api/lists'] });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const known = lists.data?.lists.find((list) => list.name === name.trim());
    if (known) setTarget(known._id);
    else create.mutate({ body: { name: name.trim() } }, { onSuccess: ({ list }) => setTarget(list._id) });
  };
  return (
    <>
      <form className="flex flex-col gap-4" onSubmit={submit}>
        <TextField
          label={t`List`}
          required
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.target.value)}
          hint={t`A list of that name is made unless there is one.`}
          error={issueOf(create.error, 'name')}
        />
        <FormError>{generalErrorOf(create.error, ['name'])}</FormError>
        <div>
          <Button kind="primary" type="submit" busy={create.isPending}>
            <Trans>Choose a file</Trans>
          </Button>
        </div>
      </form>
      {started && (
        <div className="mt-4 overflow-hidden rounded-lg border border-line">
          <ImportProgress {...started} close={() => setStarted(null)} />
        </div>
      )}
      {target !== null && lists.data?.lists.some(({ _id }) => _id === target) && (
        <ImportLeads
          lists={lists.data.lists}
          listId={target}
          close={() => setTarget(null)}
          onStarted={(listId, importId) => setStarted({ listId, importId })}
        />
      )}
    </>
  );
}
