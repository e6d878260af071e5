import { z } from 'zod';
import { Id } from './ids.ts';
import { type ColumnField, columnField, customFieldName } from './shared/lead-columns.ts';
import { LeadInput } from './lead.ts';

/** The progress of an import. */
export const LeadImport = z
  .object({
    importId: Id,
    listId: Id,
    status: z.enum(['running', 'completed', 'failed']),
    processed: z.int().meta({ description: 'Rows read so far: saved, duplicates and rejected.' }),
    saved: z.int(),
    duplicates: z.int(),
    rejected: z.int(),
    error: z.string().nullable().meta({ description: 'Why reading the file stopped.' }),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'LeadImport' });
export type LeadImport = z.infer<typeof LeadImport>;

/** The lead field for each column; null for a column that becomes a custom field. */
export interface ColumnMap {
  columns: string[];
  fields: (ColumnField | null)[];
}

/** @returns null if no column is an email address or a phone number: the first row is not a header then. */
export function mapColumns(header: readonly string[]): ColumnMap | null {
  const columns = header.map((name) => name.trim());
  const fields = columns.map(columnField);
  return fields.includes('email') || fields.includes('phone') ? { columns, fields } : null;
}

/** The text in a row's column of a field. */
export const cellOf = (row: readonly string[], { fields }: ColumnMap, field: ColumnField): string =>
  row[fields.indexOf(field)]?.trim() ?? '';

/** Parses one row. Multiple addresses in one cell are separated by `;`, `,` or `|`. */
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
    const customField = customFieldName(columns[index] ?? '');
    if (field === 'email' || field === 'phone')
      addresses[field].push(...value.split(/[;,|]/).map((part) => part.trim()));
    else if (field) input[field] ??= value;
    else if (customField === '__proto__') return { reason: '__proto__: is not a valid field name' };
    else if (customField) customFields[customField] = value;
  }
  if (row.some((value) => value.includes('\0'))) return { reason: 'contains a NUL character' };
  if (row.length > columns.length) return { reason: `has ${row.length} fields instead of ${columns.length}` };
  const parsed = LeadInput.safeParse({
    ...input,
    emails: addresses.email,
    phones: addresses.phone,
    customFields,
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return { reason: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}` };
}
