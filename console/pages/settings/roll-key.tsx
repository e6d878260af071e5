import { t } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { SelectField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { CreatedKey } from './create-key.tsx';
import type { WorkspaceKey } from './key-fields.tsx';

const overlaps = () => [
  { value: '0', label: t`At once` },
  { value: '1', label: t`In an hour` },
  { value: '24', label: t`In 24 hours` },
  { value: '168', label: t`In 7 days` },
];

/** Replaces a key by a new one, and shows that one, which the API does only once. */
export function RollKey({ apiKey: { _id, name }, close }: { apiKey: WorkspaceKey; close: () => void }) {
  const { t } = useLingui();
  const [overlapHours, setOverlapHours] = useState('24');
  const roll = useWrite('POST /api/keys/{id}/roll', { refresh: ['GET /api/keys'] });
  if (roll.data) return <CreatedKey name={roll.data.name} value={roll.data.key} close={close} />;
  return (
    <FormDialog
      open
      onClose={close}
      title={t`Roll ${name}`}
      description={t`A new key with the same name and restrictions replaces it. Both work until the old one ends.`}
      submit={t`Roll the key`}
      busy={roll.isPending}
      error={roll.error}
      fields={[]}
      onSubmit={() => roll.mutate({ params: { id: _id }, body: { overlapHours: Number(overlapHours) } })}
    >
      <SelectField
        label={t`The old key ends`}
        value={overlapHours}
        options={overlaps()}
        onChange={(event) => setOverlapHours(event.target.value)}
      />
    </FormDialog>
  );
}
