import { Trans, useLingui } from '@lingui/react/macro';
import type { FormEvent } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { useIdentity } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { Card } from '#console/components/page.tsx';
import { toast } from '#console/components/toast.tsx';
import { TIME_ZONES } from '#console/lib/time-zones.ts';
import { useEdits } from '#console/lib/unsent.ts';

/** The name and the time zone of the workspace, for admins. */
export function WorkspaceProfile() {
  const { t } = useLingui();
  const { name, timezone } = useIdentity().workspace;
  const edits = useEdits('workspace', { name, timezone });
  const { values, change } = edits;
  const save = useWrite('PATCH /api/workspace', { refresh: ['GET /api/workspace'] });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(
      { body: edits.edits },
      {
        onSuccess: () => {
          edits.forget();
          toast(t`The workspace was saved`);
        },
        afterRefetch: edits.discard,
      },
    );
  };
  // A zone under a former name is not among those of the browser.
  const zones = TIME_ZONES.some(({ value }) => value === timezone)
    ? TIME_ZONES
    : [{ value: timezone, label: timezone }, ...TIME_ZONES];
  return (
    <Card title={t`Workspace`}>
      <KeptForm edits={edits} className="flex flex-col gap-4 p-4" onSubmit={submit}>
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label={t`Name`}
            required
            maxLength={200}
            value={values.name}
            onChange={(event) => change({ name: event.target.value })}
            error={issueOf(save.error, 'name')}
          />
          <SelectField
            label={t`Time zone`}
            options={zones}
            value={values.timezone}
            onChange={(event) => change({ timezone: event.target.value })}
            hint={t`Send windows, caps and reports follow it.`}
            error={issueOf(save.error, 'timezone')}
          />
        </div>
        <FormError>{generalErrorOf(save.error, ['name', 'timezone'])}</FormError>
        <div>
          <Button type="submit" busy={save.isPending} disabled={!edits.isChanged}>
            <Trans>Save the workspace</Trans>
          </Button>
        </div>
      </KeptForm>
    </Card>
  );
}
