import { Trans, useLingui } from '@lingui/react/macro';
import { Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button, IconButton } from '#console/components/button.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import { FormError, generalErrorOf, issueOf, TextAreaField, TextField } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { useEdits } from '#console/lib/unsent.ts';

type Snippet = ResponseOf<'GET /api/snippets'>['snippets'][number];

const LIST = 'GET /api/snippets';
const FIELDS = ['name', 'text'];
const EMPTY = { name: '', text: '' };

/** Makes, changes and deletes snippets. */
export default function Snippets({
  snippets,
  written,
  close,
}: {
  snippets: readonly Snippet[];
  written: string;
  close: () => void;
}) {
  const { t } = useLingui();
  /** null: a new one. */
  const [edited, edit] = useState<Snippet | null>(null);
  const remove = useWrite('DELETE /api/snippets/{id}', { refresh: [LIST] });
  return (
    <Dialog
      open
      onClose={close}
      title={t`Snippets`}
      description={t`Texts that your team writes often, with fields of the contact.`}
    >
      {snippets.length > 0 && (
        <ul aria-label={t`Snippets`} className="mb-4 divide-y divide-line">
          {snippets.map((snippet) => {
            const { _id: id, name, text } = snippet;
            return (
              <li key={id} className="flex items-center gap-2 py-1.5">
                <div className="min-w-0 flex-1">
                  <p className="truncate font-medium">{name}</p>
                  <p className="truncate text-xs text-muted">{text}</p>
                </div>
                <IconButton label={t`Change ${name}`} onClick={() => edit(snippet)}>
                  <Pencil className="size-4" aria-hidden="true" />
                </IconButton>
                <IconButton
                  label={t`Delete ${name}`}
                  onClick={() =>
                    remove.mutate(
                      { params: { id } },
                      { onSuccess: () => toast(t`Deleted ${name}`), onError: toastError },
                    )
                  }
                >
                  <Trash2 className="size-4" aria-hidden="true" />
                </IconButton>
              </li>
            );
          })}
        </ul>
      )}
      <SnippetForm key={edited?._id ?? 'new'} snippet={edited} written={written} done={() => edit(null)} />
    </Dialog>
  );
}

function SnippetForm({
  snippet,
  written,
  done,
}: {
  snippet: Snippet | null;
  written: string;
  done: () => void;
}) {
  const { t } = useLingui();
  const [saved] = useState(
    snippet ? { name: snippet.name, text: snippet.text } : { ...EMPTY, text: written },
  );
  const form = useEdits(`snippet ${snippet?._id ?? 'new'}`, saved);
  const { change, values } = form;
  const { name, text } = values;
  const create = useWrite('POST /api/snippets', { refresh: [LIST] });
  const update = useWrite('PATCH /api/snippets/{id}', { refresh: [LIST] });
  const error = create.error ?? update.error;
  const callbacks = {
    onSuccess: () => {
      form.forget();
      toast(snippet ? t`The snippet was changed` : t`The snippet was added`);
    },
    whileShown: () => {
      form.discard();
      done();
    },
  };
  return (
    <KeptForm
      edits={form}
      aria-label={snippet ? t`Change the snippet` : t`New snippet`}
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (snippet) update.mutate({ params: { id: snippet._id }, body: { name, text } }, callbacks);
        else create.mutate({ body: { name, text } }, callbacks);
      }}
    >
      <TextField
        label={t`Name`}
        value={name}
        onChange={(event) => change({ name: event.target.value })}
        error={issueOf(error, 'name')}
      />
      <TextAreaField
        label={t`Text`}
        value={text}
        hint={<code>{'{{ firstName | default: "there" }}'}</code>}
        onChange={(event) => change({ text: event.target.value })}
        error={issueOf(error, 'text')}
      />
      <FormError>{generalErrorOf(error, FIELDS)}</FormError>
      <div className="flex gap-2">
        <Button
          kind="primary"
          type="submit"
          busy={create.isPending || update.isPending}
          disabled={name.trim() === '' || text.trim() === ''}
        >
          {snippet ? t`Save` : t`Add`}
        </Button>
        {snippet && (
          <Button onClick={done}>
            <Trans>Cancel</Trans>
          </Button>
        )}
      </div>
    </KeptForm>
  );
}
