import { t } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { addressName } from '#console/lib/format.ts';

export type Lead = ResponseOf<'GET /api/leads'>['leads'][number];
/** An entry of the history of a lead. */
export type HistoryEntry = ResponseOf<'GET /api/leads/{id}/timeline'>['entries'][number];
export type LeadList = ResponseOf<'GET /api/lists'>['lists'][number];

export const leadName = ({ firstName, lastName, phone, email }: Lead): string =>
  [firstName, lastName].filter(Boolean).join(' ') || addressName(phone ?? email ?? t`Lead`);

/** What is read again after leads have changed. */
export const LEADS = ['GET /api/leads', 'GET /api/leads/{id}', 'GET /api/lists'] as const;

export const FIELDS = [
  'firstName',
  'lastName',
  'phone',
  'email',
  'companyName',
  'jobTitle',
  'contactOwnerEmail',
  'notes',
] as const;
export type FieldName = (typeof FIELDS)[number];
export type LeadValues = Record<FieldName, string>;

export const NO_VALUES = Object.fromEntries(FIELDS.map((name) => [name, ''])) as LeadValues;

export const valuesOf = (lead: Lead): LeadValues =>
  Object.fromEntries(FIELDS.map((name) => [name, lead[name] ?? ''])) as LeadValues;

/** The values in the form that the API accepts: a lead without an owner has null, not an empty text. */
export const bodyOf = (values: Partial<LeadValues>): Partial<LeadValues> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      name === 'contactOwnerEmail' && value.trim() === '' ? null : value,
    ]),
  );
