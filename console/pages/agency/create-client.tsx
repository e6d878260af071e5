import { Trans, useLingui } from '@lingui/react/macro';
import { Plus } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import { issueOf, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { ShownOnce } from '#console/components/shown-once.tsx';
import { ZoneAndCountry } from '#console/components/zone-and-country.tsx';
import { enteredIn } from '#console/lib/form.ts';
import { useSwitchWorkspace } from '#console/lib/switch-workspace.ts';

const FIELDS = ['name', 'legalName', 'timezone', 'country'];

/** Creates the workspace of a client and shows its first key, which the API does only once. */
export function CreateClient() {
  const { t } = useLingui();
  const [open, setOpen] = useState(false);
  const create = useWrite('POST /api/agency/subaccounts', {
    refresh: ['GET /api/agency/subaccounts', 'GET /api/agency/overview'],
  });
  const switchTo = useSwitchWorkspace();
  const close = (): void => {
    setOpen(false);
    create.reset();
  };
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    create.mutate({ body: enteredIn(event.currentTarget) as never });
  };
  const error = (name: string): string | undefined => issueOf(create.error, name);
  const created = create.data?.subAccount;
  const name = created?.name;
  return (
    <>
      <Button
        small
        kind="primary"
        icon={<Plus className="size-4" aria-hidden="true" />}
        onClick={() => setOpen(true)}
      >
        <Trans>New client</Trans>
      </Button>
      <FormDialog
        open={open && !create.data}
        onClose={close}
        title={t`New client`}
        description={t`A workspace of its own: its lines, contacts and messages are seen by nobody else.`}
        submit={t`Create`}
        busy={create.isPending}
        error={create.error}
        fields={FIELDS}
        onSubmit={submit}
      >
        <TextField label={t`Name`} name="name" required maxLength={200} error={error('name')} />
        <TextField
          label={t`Legal name (optional)`}
          name="legalName"
          maxLength={200}
          error={error('legalName')}
        />
        <ZoneAndCountry issue={error} />
      </FormDialog>
      <Dialog
        open={open && created !== undefined}
        onClose={close}
        title={name === undefined ? t`The client was created` : t`${name} was created`}
        footer={
          <>
            <Button onClick={() => created && switchTo(created.idpOrgId)}>
              <Trans>Open the workspace</Trans>
            </Button>
            <Button kind="primary" onClick={close}>
              <Trans>Done</Trans>
            </Button>
          </>
        }
      >
        {create.data && (
          <ShownOnce
            label={t`First API key`}
            value={create.data.workspaceApiKey}
            use={t`Programs call the API of this client with it.`}
          />
        )}
      </Dialog>
    </>
  );
}
