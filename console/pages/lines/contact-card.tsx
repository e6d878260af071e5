import { Trans, useLingui } from '@lingui/react/macro';
import type { FormEvent } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import type { Line } from '#console/lib/line.ts';
import { useEdits } from '#console/lib/unsent.ts';

type Card = ResponseOf<'GET /api/lines/{id}/contact-card'>['contactCard'];

const FIELDS = ['firstName', 'lastName', 'organization', 'photoUrl'] as const;

/** Who contacts see: the card of a phone line, when they get it, and when they see that a message was read. */
export function ContactCard({ line }: { line: Line }) {
  const params = { id: line._id };
  const { data, error, refetch } = useRead('GET /api/lines/{id}/contact-card', { params });
  return (
    <div className="flex flex-col gap-4">
      {data ? (
        <Form key={JSON.stringify(data.contactCard)} line={line} saved={data.contactCard} />
      ) : error ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : (
        <SkeletonRows rows={2} />
      )}
      <Shown line={line} />
    </div>
  );
}

function Form({ line, saved }: { line: Line; saved: Card }) {
  const { t } = useLingui();
  const initial = {
    firstName: saved?.firstName ?? line.firstName ?? '',
    lastName: saved?.lastName ?? line.lastName ?? '',
    organization: saved?.organization ?? '',
    photoUrl: saved?.photoUrl ?? '',
  };
  const edits = useEdits(`contact card ${line._id}`, initial);
  const { values, change, forget } = edits;
  const save = useWrite('PUT /api/lines/{id}/contact-card', {
    refresh: ['GET /api/lines/{id}/contact-card'],
  });
  const labels = {
    firstName: t`First name`,
    lastName: t`Last name`,
    organization: t`Organization (optional)`,
    photoUrl: t`Address of a picture (optional)`,
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const { organization, photoUrl, ...names } = values;
    save.mutate(
      {
        params: { id: line._id },
        body: {
          ...names,
          ...(organization.trim() !== '' && { organization }),
          ...(photoUrl.trim() !== '' && { photoUrl }),
        },
      },
      {
        onSuccess: () => {
          forget();
          toast(t`The contact card was saved`);
        },
      },
    );
  };
  const isChanged = saved === null || JSON.stringify(values) !== JSON.stringify(initial);
  return (
    <KeptForm
      edits={edits}
      aria-label={t`Contact card`}
      className="flex flex-col gap-4"
      noValidate
      onSubmit={submit}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        {FIELDS.map((name) => (
          <TextField
            key={name}
            label={labels[name]}
            value={values[name]}
            onChange={({ target }) => change({ [name]: target.value })}
            error={issueOf(save.error, name)}
          />
        ))}
      </div>
      <FormError>{generalErrorOf(save.error, FIELDS)}</FormError>
      <div>
        <Button type="submit" busy={save.isPending} disabled={!isChanged}>
          <Trans>Save</Trans>
        </Button>
      </div>
    </KeptForm>
  );
}

/** Saved at once. */
function Shown({ line }: { line: Line }) {
  const { t } = useLingui();
  const update = useWrite('PATCH /api/lines/{id}', { refresh: ['GET /api/lines/by-user'] });
  const { readReceipts, shareContactCard } = line;
  const save = (body: Partial<Pick<Line, 'readReceipts' | 'shareContactCard'>>, undo?: typeof body): void =>
    update.mutate(
      { params: { id: line._id }, body },
      {
        onSuccess: () => toast(t`The line was changed`, undo && { undo: () => save(undo) }),
        onError: toastError,
      },
    );
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <SelectField
        label={t`Contacts get the card`}
        value={shareContactCard}
        disabled={update.isPending}
        options={[
          { value: 'after_first_reply', label: t`After their first message` },
          { value: 'never', label: t`Never` },
        ]}
        onChange={({ target }) =>
          save({ shareContactCard: target.value as Line['shareContactCard'] }, { shareContactCard })
        }
      />
      {line.capabilities.includes('read_receipts') && (
        <SelectField
          label={t`Contacts see “Read”`}
          value={readReceipts}
          disabled={update.isPending}
          options={[
            { value: 'off', label: t`Never` },
            { value: 'on_open', label: t`When somebody opens the conversation` },
            { value: 'on_reply', label: t`When somebody answers` },
          ]}
          onChange={({ target }) =>
            save({ readReceipts: target.value as Line['readReceipts'] }, { readReceipts })
          }
        />
      )}
    </div>
  );
}
