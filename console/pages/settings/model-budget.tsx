import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { useIdentity, useIsAdmin } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, TextField } from '#console/components/field.tsx';
import { Card } from '#console/components/page.tsx';
import { toast } from '#console/components/toast.tsx';
import { numberOf } from '#console/lib/format.ts';

/** What the language model may cost a day, and what it has cost today. */
export function ModelBudget() {
  const { t } = useLingui();
  const { aiTokensPerDay, aiTokensUsedToday, aiBudgetExhausted } = useIdentity().workspace;
  const isAdmin = useIsAdmin();
  const [typed, setTyped] = useState<string | null>(null);
  const save = useWrite('PATCH /api/workspace', { refresh: ['GET /api/workspace'] });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(
      { body: { aiTokensPerDay: Number(typed) } },
      {
        onSuccess: () => {
          setTyped(null);
          toast(t`The budget was saved`);
        },
      },
    );
  };
  const isChanged = typed !== null && typed !== String(aiTokensPerDay);
  return (
    <Card title={t`Budget`}>
      <form className="flex flex-col gap-4 p-4" onSubmit={submit}>
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
              value={typed ?? String(aiTokensPerDay)}
              onChange={(event) => setTyped(event.target.value)}
              error={issueOf(save.error, 'aiTokensPerDay')}
            />
            <Button type="submit" busy={save.isPending} disabled={!isChanged}>
              <Trans>Save the budget</Trans>
            </Button>
          </div>
        )}
        <FormError>{generalErrorOf(save.error, ['aiTokensPerDay'])}</FormError>
      </form>
    </Card>
  );
}
