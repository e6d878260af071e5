import { z } from 'zod';
import { Id } from './ids.ts';
import { LeadInput } from './lead.ts';

/** How far an import is. */
export const LeadImport = z
  .object({
    importId: Id,
    listId: Id,
    status: z.enum(['running', 'completed', 'failed']),
    processed: z.int().meta({ description: 'Rows read so far: saved, duplicates and rejected.' }),
    saved: z.int(),
    duplicates: z.int(),
    rejected: z.int(),
    error: z.string().nullable().meta({ description: 'Why the file could not be read further.' }),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'LeadImport' });
export type LeadImport = z.infer<typeof LeadImport>;

type Field =
  | 'firstName'
  | 'lastName'
  | 'email'
  | 'phone'
  | 'companyName'
  | 'jobTitle'
  | 'notes'
  | 'contactOwnerEmail';

/** What the columns of a file may be called, without case, spaces and punctuation; a number may follow. */
const NAMES: Record<string, Field> = {
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
};

/** Which field of a lead each column of a file fills; one that is no field of ours becomes a custom field. */
export interface ColumnMap {
  columns: string[];
  fields: (Field | null)[];
}

/** @returns null when no column holds an email address or a phone number: the first row is no header then. */
export function mapColumns(header: readonly string[]): ColumnMap | null {
  const columns = header.map((name) => name.trim());
  const fields = columns.map(fieldOf);
  return fields.includes('email') || fields.includes('phone') ? { columns, fields } : null;
}

function fieldOf(column: string): Field | null {
  const name = column.toLowerCase().replaceAll(/[^a-z]/g, '');
  // A column may be called `constructor`.
  return Object.hasOwn(NAMES, name) ? (NAMES[name] ?? null) : null;
}

/** The lead of one row, or why the row is refused. Several addresses in one cell are divided by `;`, `,` or `|`. */
export function readRow(
  row: readonly string[],
  { columns, fields }: ColumnMap,
): LeadInput | { reason: string } {
  const input: Record<string, string> = {};
  const addresses: Record<'email' | 'phone', string[]> = { email: [], phone: [] };
  const customFields: Record<string, string> = {};
  for (const [index, value] of row.entries()) {
    if (value === '') continue;
    const field = fields[index];
    if (field === 'email' || field === 'phone')
      addresses[field].push(...value.split(/[;,|]/).map((part) => part.trim()));
    else if (field) input[field] ??= value;
    else if (columns[index] === '__proto__') return { reason: '__proto__: must not be a name of a field' };
    else if (columns[index]) customFields[columns[index]] = value;
  }
  // PostgreSQL has no text with a null character in it.
  if (row.some((value) => value.includes('\0'))) return { reason: 'has a null character' };
  if (row.length > columns.length)
    return { reason: `has ${row.length} fields where the header has ${columns.length}` };
  const parsed = LeadInput.safeParse({
    ...input,
    emails: addresses.email,
    phones: addresses.phone,
    customFields,
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return { reason: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}` };
}
