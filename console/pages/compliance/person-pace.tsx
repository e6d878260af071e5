import { Trans, useLingui } from '@lingui/react/macro';
import type { FormEvent } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useIdentity, useIsAdmin } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { Check } from '#console/components/check.tsx';
import { FormError, generalErrorOf, issueOf, TextField } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { Card } from '#console/components/page.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { useEdits } from '#console/lib/unsent.ts';

type Cap = ResponseOf<'GET /api/workspace/frequency-cap'>['frequencyCap'];

const DEFAULT_DAYS = 7;

/** How often campaigns write to one person. */
export function PersonPace() {
  const { t } = useLingui();
  const { data, error, refetch } = useRead('GET /api/workspace/frequency-cap', {});
  return (
    <Card title={t`Pace per person`}>
      <div className="flex flex-col gap-4 p-4">
        {data ? (
          <CapForm key={JSON.stringify(data.frequencyCap)} saved={data.frequencyCap} />
        ) : error ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : (
          <SkeletonRows rows={1} />
        )}
        <ContactBusy />
      </div>
    </Card>
  );
}

function CapForm({ saved }: { saved: Cap }) {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  const initial = { messages: String(saved?.messages ?? ''), days: String(saved?.days ?? DEFAULT_DAYS) };
  const edits = useEdits('frequency cap', initial);
  const { values, change } = edits;
  const save = useWrite('PUT /api/workspace/frequency-cap', {
    refresh: ['GET /api/workspace/frequency-cap'],
  });
  const bodyOf = ({ messages, days }: typeof values) => ({
    messages: messages.trim() === '' ? null : Number(messages),
    days: Number(days),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(
      { body: bodyOf(values) },
      {
        onSuccess: () => {
          edits.forget();
          toast(t`The cap was saved`, {
            undo: () => save.mutate({ body: bodyOf(initial) }, { onError: toastError }),
          });
        },
      },
    );
  };
  return (
    <KeptForm
      edits={edits}
      aria-label={t`Frequency cap`}
      className="flex flex-col gap-3"
      noValidate
      onSubmit={submit}
    >
      <p className="text-muted">
        <Trans>
          Over all campaigns and lines. What exceeds it waits; answers and messages outside of campaigns do
          not.
        </Trans>
      </p>
      <fieldset disabled={!isAdmin} className="flex flex-wrap items-end gap-3">
        <TextField
          label={t`Messages at most`}
          type="number"
          min={1}
          placeholder={t`No cap`}
          value={values.messages}
          onChange={({ target }) => change({ messages: target.value })}
          error={issueOf(save.error, 'messages')}
        />
        <TextField
          label={t`In how many days`}
          type="number"
          min={1}
          value={values.days}
          onChange={({ target }) => change({ days: target.value })}
          error={issueOf(save.error, 'days')}
        />
        {isAdmin && (
          <Button type="submit" busy={save.isPending} disabled={!edits.isChanged}>
            <Trans>Save the cap</Trans>
          </Button>
        )}
      </fieldset>
      <FormError>{generalErrorOf(save.error, ['messages', 'days'])}</FormError>
    </KeptForm>
  );
}

/** Saved at once. */
function ContactBusy() {
  const { t } = useLingui();
  const { contactBusy } = useIdentity().workspace;
  const isAdmin = useIsAdmin();
  const update = useWrite('PATCH /api/workspace', { refresh: ['GET /api/workspace'] });
  const save = (next: boolean, onSuccess?: () => void): void =>
    update.mutate({ body: { contactBusy: next } }, { ...(onSuccess && { onSuccess }), onError: toastError });
  return (
    <Check
      label={t`Campaigns wait while a member is in conversation with a contact`}
      checked={contactBusy}
      disabled={!isAdmin || update.isPending}
      onChange={(next) =>
        save(next, () => toast(t`The setting was saved`, { undo: () => save(contactBusy) }))
      }
    />
  );
}
