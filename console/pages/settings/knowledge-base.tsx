import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import type { FormEvent } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import {
  FormError,
  generalErrorOf,
  issueOf,
  SelectField,
  TextAreaField,
  TextField,
} from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { Card } from '#console/components/page.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { useEdits } from '#console/lib/unsent.ts';
import { AUTOPILOT_FIELDS, AutopilotFields } from './autopilot.tsx';
import { AutopilotTrial, useDryRun } from './autopilot-trial.tsx';
import { Chats } from './chats.tsx';
import { Documents } from './documents.tsx';
import { ModelBudget } from './model-budget.tsx';

type Saved = Omit<ResponseOf<'GET /api/knowledge-base'>, 'success'>;

const modes = () => [
  { value: 'off', label: t`Off` },
  { value: 'copilot', label: t`Write drafts of replies` },
  { value: 'autopilot', label: t`Answer by itself, within limits` },
];

/** What the AI copilot knows, and whether it writes drafts. */
export default function KnowledgeBase() {
  const { data, error, refetch } = useRead('GET /api/knowledge-base', {});
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  if (!data) return <SkeletonRows />;
  const { success: _, ...saved } = data;
  // The form begins anew with what was saved, but not with what was merely read again.
  return (
    <div className="flex flex-col gap-4">
      <Form key={JSON.stringify(saved)} saved={saved} />
      <Chats />
      <ModelBudget />
    </div>
  );
}

function Form({ saved }: { saved: Saved }) {
  const { t } = useLingui();
  const form = useEdits('copilot', saved);
  const { values, change, isChanged } = form;
  const save = useWrite('PUT /api/knowledge-base', { refresh: ['GET /api/knowledge-base'] });
  const { dryRun, isRecent } = useDryRun();
  const isUntried = values.mode === 'autopilot' && saved.mode !== 'autopilot' && !isRecent;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(
      { body: values },
      {
        onSuccess: () => {
          form.forget();
          toast(t`The copilot’s settings were saved`, {
            undo: () => save.mutate({ body: saved }, { onError: toastError }),
          });
        },
      },
    );
  };
  const error = (name: string): string | undefined => issueOf(save.error, name);
  const fields = [
    'mode',
    'instructions',
    'debounceSeconds',
    'documents',
    ...AUTOPILOT_FIELDS,
    ...values.documents.flatMap((_, index) => [`documents.${index}.title`, `documents.${index}.text`]),
  ];
  return (
    <KeptForm edits={form} className="flex flex-col gap-4" onSubmit={submit}>
      <Card title={t`Drafts`}>
        <div className="grid gap-4 p-4 sm:grid-cols-2">
          <SelectField
            label={t`Copilot`}
            value={values.mode}
            options={modes()}
            hint={
              values.mode === 'autopilot'
                ? t`What is outside its limits becomes a draft for a person.`
                : t`A person approves, edits or rejects each draft in the inbox.`
            }
            onChange={(event) => change({ mode: event.target.value as Saved['mode'] })}
            error={error('mode')}
          />
          <TextField
            label={t`Seconds to wait`}
            type="number"
            min={0}
            max={600}
            required
            hint={t`After the contact’s last message, before a draft is written.`}
            value={String(values.debounceSeconds)}
            onChange={(event) => change({ debounceSeconds: Number(event.target.value) })}
            error={error('debounceSeconds')}
          />
          <div className="sm:col-span-2">
            <TextAreaField
              label={t`Instructions`}
              className="min-h-40"
              hint={t`How to write drafts: tone, goals, things never to say.`}
              value={values.instructions}
              onChange={(event) => change({ instructions: event.target.value })}
              error={error('instructions')}
            />
          </div>
        </div>
      </Card>
      {values.mode === 'autopilot' && (
        <>
          <AutopilotFields
            autopilot={values.autopilot}
            disclosure={values.disclosure}
            onChange={change}
            errorOf={error}
          />
          <AutopilotTrial autopilot={values.autopilot} dryRun={dryRun} />
        </>
      )}
      <Documents
        documents={values.documents}
        onChange={(documents) => change({ documents })}
        error={save.error}
      />
      <FormError>{generalErrorOf(save.error, fields)}</FormError>
      <div className="flex gap-2">
        <Button kind="primary" type="submit" busy={save.isPending} disabled={!isChanged || isUntried}>
          <Trans>Save</Trans>
        </Button>
        {isChanged && !form.isKept && (
          <Button onClick={form.discard}>
            <Trans>Discard changes</Trans>
          </Button>
        )}
        {isUntried && (
          <p className="self-center text-muted">
            <Trans>Try the autopilot on past conversations before you turn it on.</Trans>
          </p>
        )}
      </div>
    </KeptForm>
  );
}
