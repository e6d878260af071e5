import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
import { TextAreaField, TextField } from '#console/components/field.tsx';
import { type FieldName, FIELDS, type LeadValues } from './lead.ts';

const LABELS: Record<FieldName, MessageDescriptor> = {
  firstName: msg`First name`,
  lastName: msg`Last name`,
  phone: msg`Phone number`,
  email: msg`Email address`,
  companyName: msg`Company`,
  jobTitle: msg`Job title`,
  contactOwnerEmail: msg`Owner (email address of a member)`,
  notes: msg`Notes`,
};

/** What a column of a file can be chosen to be. */
export const MAPPED_FIELDS = ['fullName', ...FIELDS] as const;
export const COLUMN_LABELS: Record<(typeof MAPPED_FIELDS)[number], MessageDescriptor> = {
  ...LABELS,
  fullName: msg`First and last name`,
};

const MODES: Partial<Record<FieldName, 'tel' | 'email'>> = {
  phone: 'tel',
  email: 'email',
  contactOwnerEmail: 'email',
};

/** The fields of a lead, with what the API said about each. */
export function LeadFields({
  values,
  onChange,
  errorOf,
}: {
  values: LeadValues;
  onChange: (values: LeadValues) => void;
  errorOf: (name: FieldName) => string | undefined;
}) {
  const { t } = useLingui();
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      {FIELDS.map((name) =>
        name === 'notes' ? (
          <div key={name} className="sm:col-span-2">
            <TextAreaField
              label={t(LABELS[name])}
              value={values[name]}
              onChange={(event) => onChange({ ...values, [name]: event.target.value })}
              error={errorOf(name)}
            />
          </div>
        ) : (
          <TextField
            key={name}
            label={t(LABELS[name])}
            inputMode={MODES[name] ?? 'text'}
            autoComplete="off"
            value={values[name]}
            onChange={(event) => onChange({ ...values, [name]: event.target.value })}
            error={errorOf(name)}
          />
        ),
      )}
    </div>
  );
}
