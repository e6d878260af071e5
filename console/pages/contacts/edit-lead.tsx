import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { useEdits } from '#console/lib/unsent.ts';
import { bodyOf, FIELDS, type Lead, LEADS, type LeadValues, valuesOf } from './lead.ts';
import { LeadFields } from './lead-fields.tsx';

export function EditLead({ lead }: { lead: Lead }) {
  const { t } = useLingui();
  // As it was when the form was opened: what somebody else has changed since is not changed back.
  const [initial, setInitial] = useState(() => valuesOf(lead));
  const edits = useEdits(`lead ${lead._id}`, initial);
  const { values, change, discard } = edits;
  const update = useWrite('PATCH /api/leads/{id}', { refresh: LEADS });
  const changed = FIELDS.filter((name) => values[name] !== initial[name]);
  const show = (saved: Lead): void => {
    setInitial(valuesOf(saved));
    discard();
  };
  const pick = (of: LeadValues) => bodyOf(Object.fromEntries(changed.map((name) => [name, of[name]])));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const before = { ...pick(valuesOf(lead)), phones: lead.phones, emails: lead.emails };
    update.mutate(
      { params: { id: lead._id }, body: pick(values) },
      {
        onSuccess: ({ lead: saved }) => {
          show(saved);
          toast(t`The lead was changed`, {
            undo: () => {
              // Restores all addresses, since a patch replaces the list.
              const { phone: _, email: __, ...rest } = before;
              update.mutate(
                { params: { id: lead._id }, body: rest },
                { onSuccess: ({ lead: restored }) => show(restored), onError: toastError },
              );
            },
          });
        },
      },
    );
  };
  return (
    <KeptForm edits={edits} className="flex flex-col gap-4" onSubmit={submit}>
      <LeadFields values={values} onChange={change} errorOf={(name) => issueOf(update.error, name)} />
      <FormError>{generalErrorOf(update.error, FIELDS)}</FormError>
      <div>
        <Button kind="primary" type="submit" busy={update.isPending} disabled={changed.length === 0}>
          <Trans>Save</Trans>
        </Button>
      </div>
    </KeptForm>
  );
}
