import type { MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import { issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { ShownOnce } from '#console/components/shown-once.tsx';
import { type KeyOwner, KEYS_OF } from '#console/lib/keys.ts';
import { KeyFields, restrictionsIn, UNRESTRICTED } from './key-fields.tsx';

const expiries = () => [
  { value: '', label: t`Never` },
  { value: '30', label: t`In 30 days` },
  { value: '90', label: t`In 90 days` },
  { value: '365', label: t`In a year` },
];

const modes = () => [
  { value: 'live', label: t`Live` },
  { value: 'test', label: t`Test` },
];

/** What a key may do. */
const REACH: Record<KeyOwner, MessageDescriptor> = {
  workspace: msg`It gives access to this workspace, except for its keys and audit log.`,
  agency: msg`It manages the clients, their lines, plans and webhooks, but neither reads nor sends messages.`,
};

/** Creates a key and shows it, which the API does only once. */
export function CreateKey({ owner, close }: { owner: KeyOwner; close: () => void }) {
  const { t } = useLingui();
  const { create: endpoint, list } = KEYS_OF[owner];
  const [name, setName] = useState('');
  const [days, setDays] = useState('');
  const [mode, setMode] = useState('live');
  const [restrictions, setRestrictions] = useState(UNRESTRICTED);
  const create = useWrite(endpoint, { refresh: [list] });
  const submit = (): void => {
    const expiresInDays = days === '' ? null : Number(days);
    const body = {
      name,
      expiresInDays,
      ...(owner === 'workspace' && { mode: mode as 'live' | 'test', ...restrictionsIn(restrictions) }),
    };
    create.mutate({ body });
  };
  if (create.data) return <CreatedKey name={create.data.name} value={create.data.key} close={close} />;
  return (
    <FormDialog
      open
      onClose={close}
      title={t`Create an API key`}
      description={t(REACH[owner])}
      submit={t`Create`}
      busy={create.isPending}
      error={create.error}
      fields={['name', 'expiresInDays', 'scopes', 'allowedIps']}
      onSubmit={submit}
    >
      <TextField
        label={t`Name`}
        hint={t`What uses it, for example: CRM sync`}
        required
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={issueOf(create.error, 'name')}
      />
      <SelectField
        label={t`Expires`}
        value={days}
        options={expiries()}
        onChange={(event) => setDays(event.target.value)}
        error={issueOf(create.error, 'expiresInDays')}
      />
      {owner === 'workspace' && (
        <SelectField
          label={t`Mode`}
          hint={mode === 'test' ? t`Nothing that is done with it reaches anybody.` : undefined}
          value={mode}
          options={modes()}
          onChange={(event) => setMode(event.target.value)}
        />
      )}
      {owner === 'workspace' && (
        <KeyFields value={restrictions} onChange={setRestrictions} error={create.error} />
      )}
    </FormDialog>
  );
}

export function CreatedKey({ name, value, close }: { name: string; value: string; close: () => void }) {
  const { t } = useLingui();
  return (
    <Dialog
      open
      onClose={close}
      title={t`The key ${name}`}
      footer={
        <Button kind="primary" onClick={close}>
          <Trans>Done</Trans>
        </Button>
      }
    >
      <ShownOnce label={t`API key`} value={value} />
    </Dialog>
  );
}
