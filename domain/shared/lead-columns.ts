/** A field of leads that a column of a CSV file can be. */
export type ColumnField =
  | 'firstName'
  | 'lastName'
  | 'email'
  | 'phone'
  | 'companyName'
  | 'jobTitle'
  | 'notes'
  | 'contactOwnerEmail'
  | 'timezone'
  | 'consentSource'
  | 'consentAt';

/** Known column names, without case, spaces, punctuation and digits (`E-Mail 2` is `email`). */
const FIELDS_BY_NAME: Record<string, ColumnField> = {
  firstname: 'firstName',
  givenname: 'firstName',
  lastname: 'lastName',
  surname: 'lastName',
  familyname: 'lastName',
  email: 'email',
  emails: 'email',
  emailaddress: 'email',
  phone: 'phone',
  phones: 'phone',
  phonenumber: 'phone',
  mobile: 'phone',
  mobilephone: 'phone',
  telephone: 'phone',
  company: 'companyName',
  companyname: 'companyName',
  organization: 'companyName',
  jobtitle: 'jobTitle',
  title: 'jobTitle',
  notes: 'notes',
  note: 'notes',
  contactowneremail: 'contactOwnerEmail',
  owneremail: 'contactOwnerEmail',
  timezone: 'timezone',
  consentsource: 'consentSource',
  consentat: 'consentAt',
  consentdate: 'consentAt',
};

/** As templates name custom fields. */
const CUSTOM = /^customFields\./i;

/** The name of the custom field that a column is. */
export const customFieldName = (column: string): string => column.replace(CUSTOM, '');

/** The field that a column is, by its name; null for a custom field. */
export function columnField(column: string): ColumnField | null {
  if (CUSTOM.test(column)) return null;
  const name = column.toLowerCase().replaceAll(/[^a-z]/g, '');
  // `hasOwn`, because a column may be called `constructor`.
  return Object.hasOwn(FIELDS_BY_NAME, name) ? (FIELDS_BY_NAME[name] ?? null) : null;
}
