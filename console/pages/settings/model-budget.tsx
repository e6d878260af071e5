import { Trans, useLingui } from '@lingui/react/macro';
import type { FormEvent } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { useIdentity, useIsAdmin } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, TextField } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { Card } from '#console/components/page.tsx';
import { toast } from '#console/components/toast.tsx';
import { numberOf } from '#console/lib/format.ts';
import { useEdits } from '#console/lib/unsent.ts';

/** What the language model may cost a day, and what it has cost today. */
export function ModelBudget() {
  const { t } = useLingui();
  const { aiTokensPerDay, aiTokensUsedToday, aiBudgetExhausted } = useIdentity().workspace;
  const isAdmin = useIsAdmin();
  const edits = useEdits('budget', { tokens: String(aiTokensPerDay) });
  const { tokens } = edits.values;
  const save = useWrite('PATCH /api/workspace', { refresh: ['GET /api/workspace'] });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(
      { body: { aiTokensPerDay: Number(tokens) } },
      {
        onSuccess: () => {
          edits.forget();
          toast(t`The budget was saved`);
        },
        afterRefetch: edits.discard,
      },
    );
  };
  return (
    <Card title={t`Budget`}>
      <KeptForm edits={edits} className="flex flex-col gap-4 p-4" onSubmit={submit}>
        <p className={aiBudgetExhausted ? 'text-bad' : ''}>
          {aiBudgetExhausted ? (
            <Trans>
              Used today: {numberOf(aiTokensUsedToday)} of {numberOf(aiTokensPerDay)} tokens. There are no
              drafts until tomorrow.
            </Trans>
          ) : (
            <Trans>
              Used today: {numberOf(aiTokensUsedToday)} of {numberOf(aiTokensPerDay)} tokens.
            </Trans>
          )}
        </p>
        {isAdmin && (
          <div className="flex flex-wrap items-end gap-2">
            <TextField
              label={t`Tokens per day`}
              type="number"
              min={0}
              max={1_000_000_000}
              required
              value={tokens}
              onChange={(event) => edits.change({ tokens: event.target.value })}
              error={issueOf(save.error, 'aiTokensPerDay')}
            />
            <Button type="submit" busy={save.isPending} disabled={!edits.isChanged}>
              <Trans>Save the budget</Trans>
            </Button>
          </div>
        )}
        <FormError>{generalErrorOf(save.error, ['aiTokensPerDay'])}</FormError>
      </KeptForm>
    </Card>
  );
}
