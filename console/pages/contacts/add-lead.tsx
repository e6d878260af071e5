import { useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { issueOf, SelectField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { toast } from '#console/components/toast.tsx';
import { bodyOf, FIELDS, type LeadList, LEADS, NO_VALUES } from './lead.ts';
import { LeadFields } from './lead-fields.tsx';

const PATHS = [...FIELDS.map((name) => `leads.0.${name}`), 'listId'];

export function AddLead({
  open,
  close,
  lists,
  listId,
  onAdded,
}: {
  open: boolean;
  close: () => void;
  lists: readonly LeadList[];
  /** The list that is shown; '' for all. */
  listId: string;
  onAdded: (leadId: string) => void;
}) {
  const { t } = useLingui();
  const [values, setValues] = useState(NO_VALUES);
  const [chosen, setChosen] = useState<string>();
  const create = useWrite('POST /api/leads', { refresh: LEADS });
  const target = chosen ?? (listId || lists[0]?._id || '');
  const end = (): void => {
    close();
    setValues(NO_VALUES);
    setChosen(undefined);
    create.reset();
  };
  const submit = (): void => {
    const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ''));
    create.mutate(
      { body: { leads: [bodyOf(given)], ...(target !== '' && { listId: target }), source: 'console' } },
      {
        onSuccess: ({ duplicateCount }) =>
          toast(duplicateCount > 0 ? t`The list already has this lead` : t`The lead was added`),
        whileShown: ({ leadIds }) => {
          end();
          if (leadIds[0]) onAdded(leadIds[0]);
        },
      },
    );
  };
  return (
    <FormDialog
      open={open}
      onClose={end}
      title={t`Add a lead`}
      description={t`A phone number or an email address is required.`}
      submit={t`Add`}
      busy={create.isPending}
      error={create.error}
      fields={PATHS}
      onSubmit={submit}
    >
      <LeadFields
        values={values}
        onChange={setValues}
        errorOf={(name) => issueOf(create.error, `leads.0.${name}`)}
      />
      <SelectField
        label={t`List`}
        value={target}
        options={lists.map(({ _id, name }) => ({ value: _id, label: name }))}
        onChange={(event) => setChosen(event.target.value)}
        error={issueOf(create.error, 'listId')}
      />
    </FormDialog>
  );
}
