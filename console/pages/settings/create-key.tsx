import { useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import { issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { ShownOnce } from '#console/components/shown-once.tsx';
import { type KeyOwner, KEYS_OF } from '#console/lib/keys.ts';
import { KeyFields, restrictionsIn, UNRESTRICTED } from './key-fields.tsx';

const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
];

/** What a key may do. */
const REACH: Record<KeyOwner, string> = {
  workspace: 'It gives access to this workspace, except for its keys and audit log.',
  agency: 'It manages the clients, their lines, plans and webhooks, but neither reads nor sends messages.',
};

/** Creates a key and shows it, which the API does only once. */
export function CreateKey({ owner, close }: { owner: KeyOwner; close: () => void }) {
  const { create: endpoint, list, log } = KEYS_OF[owner];
  const [name, setName] = useState('');
  const [days, setDays] = useState('');
  const [restrictions, setRestrictions] = useState(UNRESTRICTED);
  const create = useWrite(endpoint, { refresh: [list, log] });
  const submit = (): void => {
    const expiresInDays = days === '' ? null : Number(days);
    const body = { name, expiresInDays, ...(owner === 'workspace' && restrictionsIn(restrictions)) };
    create.mutate({ body });
  };
  if (create.data) return <CreatedKey name={create.data.name} value={create.data.key} close={close} />;
  return (
    <FormDialog
      open
      onClose={close}
      title="Create an API key"
      description={REACH[owner]}
      submit="Create"
      busy={create.isPending}
      error={create.error}
      fields={['name', 'expiresInDays', 'scopes', 'allowedIps']}
      onSubmit={submit}
    >
      <TextField
        label="Name"
        hint="What uses it, for example: CRM sync"
        required
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={issueOf(create.error, 'name')}
      />
      <SelectField
        label="Expires"
        value={days}
        options={EXPIRIES}
        onChange={(event) => setDays(event.target.value)}
        error={issueOf(create.error, 'expiresInDays')}
      />
      {owner === 'workspace' && (
        <KeyFields value={restrictions} onChange={setRestrictions} error={create.error} />
      )}
    </FormDialog>
  );
}

export const CreatedKey = ({ name, value, close }: { name: string; value: string; close: () => void }) => (
  <Dialog
    open
    onClose={close}
    title={`The key ${name}`}
    footer={
      <Button kind="primary" onClick={close}>
        Done
      </Button>
    }
  >
    <ShownOnce label="API key" value={value} />
  </Dialog>
);
