import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { useIdentity } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { Card } from '#console/components/page.tsx';
import { toast } from '#console/components/toast.tsx';
import { TIME_ZONES } from '#console/lib/time-zones.ts';

/** The name and the time zone of the workspace, for admins. */
export function WorkspaceProfile() {
  const { t } = useLingui();
  const { name, timezone } = useIdentity().workspace;
  const [typed, setTyped] = useState<{ name?: string; timezone?: string }>({});
  const save = useWrite('PATCH /api/workspace', { refresh: ['GET /api/workspace'] });
  const shown = { name, timezone, ...typed };
  const isChanged = shown.name !== name || shown.timezone !== timezone;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(
      { body: typed },
      {
        onSuccess: () => toast(t`The workspace was saved`),
        whileShown: () => setTyped({}),
      },
    );
  };
  // A zone under a former name is not among those of the browser.
  const zones = TIME_ZONES.some(({ value }) => value === timezone)
    ? TIME_ZONES
    : [{ value: timezone, label: timezone }, ...TIME_ZONES];
  return (
    <Card title={t`Workspace`}>
      <form className="flex flex-col gap-4 p-4" onSubmit={submit}>
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label={t`Name`}
            required
            maxLength={200}
            value={shown.name}
            onChange={(event) => setTyped({ ...typed, name: event.target.value })}
            error={issueOf(save.error, 'name')}
          />
          <SelectField
            label={t`Time zone`}
            options={zones}
            value={shown.timezone}
            onChange={(event) => setTyped({ ...typed, timezone: event.target.value })}
            hint={t`Send windows, caps and reports follow it.`}
            error={issueOf(save.error, 'timezone')}
          />
        </div>
        <FormError>{generalErrorOf(save.error, ['name', 'timezone'])}</FormError>
        <div>
          <Button type="submit" busy={save.isPending} disabled={!isChanged}>
            <Trans>Save the workspace</Trans>
          </Button>
        </div>
      </form>
    </Card>
  );
}
