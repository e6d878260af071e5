import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { plainIssue } from '../base/issue-text.ts';
import {
  addressesIn,
  COLUMN_FIELDS,
  type ColumnField,
  columnField,
  customFieldName,
} from '../shared/lead-columns.ts';
import { LeadInput } from './lead.ts';
import { oneLine, typedName } from '../base/text.ts';

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
    unlikelyNumbers: z.int().meta({
      description:
        'Leads that were saved with a number that its country does not have, such as one that lacks a digit.',
    }),
    error: z.string().nullable().meta({ description: 'Why reading the file stopped.' }),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'LeadImport' });
export type LeadImport = z.infer<typeof LeadImport>;

/** A row that cannot be saved, and why. `rowNumber` is as a spreadsheet counts: the header is row 1. */
export const RejectedRow = z.object({ rowNumber: z.int(), reason: z.string(), fields: z.array(z.string()) });
export type RejectedRow = z.infer<typeof RejectedRow>;

/** A column of a file, and what its cells become. */
const ImportColumn = z
  .object({
    name: z.string(),
    field: z.enum(COLUMN_FIELDS).nullable().meta({
      description:
        'The field of the lead. `fullName` is split into first and last name. null: a custom field, or left out if the column has no name.',
    }),
    example: z.string().meta({ description: 'The first cell that is not empty.' }),
  })
  .meta({ id: 'ImportColumn' });

/** A row of a preview: what it would be saved as, or why it would be rejected. */
const ImportPreviewRow = z
  .object({
    rowNumber: z.int().meta({ description: 'As a spreadsheet counts: the header is row 1.' }),
    lead: LeadInput.nullable(),
    reason: z.string().nullable(),
  })
  .meta({ id: 'ImportPreviewRow' });

/** What an import of a file would make of its first rows. */
export const ImportPreview = z
  .object({
    delimiter: z.string(),
    columns: z.array(ImportColumn),
    rows: z.array(ImportPreviewRow),
    error: z.string().nullable().meta({ description: 'Why the import would fail.' }),
  })
  .meta({ id: 'ImportPreview' });
export type ImportPreview = z.infer<typeof ImportPreview>;

/** The lead field for each column; null for a column that becomes a custom field. */
export interface ColumnMap {
  columns: string[];
  fields: (ColumnField | null)[];
}

/** As a lead may have. */
const MAX_CUSTOM_COLUMNS = 100;

/** The fields of a header. Of several columns for one field, only addresses are collected; the others become custom fields. */
export function mapColumns(header: readonly string[]): ColumnMap {
  const columns = header.map((name) => name.trim());
  const found = columns.map(columnField);
  const hasName = found.includes('firstName') || found.includes('lastName');
  const fields = found.map((field, index) => {
    if (field === null || field === 'email' || field === 'phone') return field;
    const isKnown = found.indexOf(field) !== index || (field === 'fullName' && hasName);
    return isKnown ? null : field;
  });
  return { columns, fields };
}

/** Why no row under a header can be imported, or null. */
export function columnsProblem({ columns, fields }: ColumnMap): string | null {
  if (columns.some((column) => column.includes('\0'))) return 'the first row contains a NUL character';
  if (!fields.includes('email') && !fields.includes('phone'))
    return 'the first row names no email or phone column';
  const custom = columns.filter((name, index) => name !== '' && fields[index] === null).length;
  return custom <= MAX_CUSTOM_COLUMNS
    ? null
    : `${custom} columns are not fields of a lead; at most ${MAX_CUSTOM_COLUMNS} can become custom fields`;
}

/** The text in a row's column of a field. */
export const cellOf = (row: readonly string[], { fields }: ColumnMap, field: ColumnField): string =>
  row[fields.indexOf(field)]?.trim() ?? '';

/** First and last name: `Ada Lovelace`, or `Lovelace, Ada`. */
export function splitName(text: string): { firstName: string; lastName: string } {
  const [last = '', first] = text.split(',', 2).map((part) => part.trim());
  if (first !== undefined) return { firstName: first, lastName: last };
  const [given = '', ...rest] = text.trim().split(/\s+/);
  return { firstName: given, lastName: rest.join(' ') };
}

/** How exports keep spreadsheets from taking digits for a number: `="4915112345678"`. */
const TEXT_FORMULA = /^="([^"]*)"$/;

/** Parses one row. */
export function readRow(
  row: readonly string[],
  { columns, fields }: ColumnMap,
): LeadInput | { reason: string } {
  // Spreadsheets pad rows with empty cells.
  if (row.slice(columns.length).some((cell) => cell.trim() !== ''))
    return { reason: `has ${row.length} fields instead of ${columns.length}` };
  if (row.some((value) => value.includes('\0'))) return { reason: 'contains a NUL character' };
  const input: Record<string, string> = {};
  const addresses: Record<'email' | 'phone', string[]> = { email: [], phone: [] };
  const customFields: Record<string, string> = {};
  for (const [index, cell] of row.entries()) {
    const value = cell.replace(TEXT_FORMULA, '$1');
    if (value === '') continue;
    const field = fields[index];
    const customField = typedName(customFieldName(columns[index] ?? ''));
    if (field === 'email' || field === 'phone') addresses[field].push(...addressesIn(value));
    else if (field === 'fullName') Object.assign(input, splitName(oneLine(value)));
    else if (field) input[field] = field === 'notes' ? printable(value) : oneLine(value).trim();
    else if (customField === '__proto__') return { reason: '__proto__: is not a valid field name' };
    else if (customField) customFields[customField] = printable(value);
  }
  const given = { ...input, emails: addresses.email, phones: addresses.phone, customFields };
  const parsed = LeadInput.safeParse(given, { error: plainIssue });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return { reason: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}` };
}

/** A text of several lines, with a space for each control character but tabs and line breaks. */
const printable = (text: string): string => text.replaceAll(/[^\P{Cc}\t\n\r]/gu, ' ');
