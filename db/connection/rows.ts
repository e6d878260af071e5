import {
  createTypeParserPreset,
  type DriverTypeParser,
  type Interceptor,
  SchemaValidationError,
} from 'slonik';
import { z } from 'zod';
import { parseTimestamp } from './timestamp.ts';

/** For statements whose rows are not read. */
export const NoRows = z.unknown();

/** Rows that many statements return. Shared, because zod compiles each new schema. */
export const IdRow = z.object({ id: z.string() });
export const AddressRow = z.object({ address: z.string() });
export const CountRow = z.object({ count: z.int() });
export const NameRow = z.object({ name: z.string() });
export const LineIdRow = z.object({ lineId: z.string() });
export const WorkspaceIdRow = z.object({ workspaceId: z.string() });
/** A time or null. */
export const AtRow = z.object({ at: z.date().nullable() });

/**
 * Parses every row with the schema of its query, so that a column of another type fails here. Renames columns from
 * snake_case to camelCase.
 */
export const parseRows: Interceptor = {
  name: 'parse-rows',
  transformRow: ({ resultParser }, query, row) => {
    if (!resultParser) return row;
    const named: Record<string, unknown> = {};
    for (const column in row) named[camelCase(column)] = row[column];
    const result = resultParser['~standard'].validate(named);
    if (result instanceof Promise) throw new Error('row schemas are synchronous');
    if (result.issues) throw new SchemaValidationError(query, row, result.issues);
    return result.value as typeof row;
  },
};

const camelNames = new Map<string, string>();

function camelCase(column: string): string {
  let name = camelNames.get(column);
  if (name === undefined) {
    name = column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    camelNames.set(column, name);
  }
  return name;
}

/** slonik's defaults turn bigint into BigInt and numeric into a float. Here, counts become numbers and money stays text. */
export const typeParsers: DriverTypeParser[] = [
  ...createTypeParserPreset().filter(
    ({ name }) => !['int8', 'numeric', 'timestamptz', 'timestamp'].includes(name),
  ),
  { name: 'int8', parse: safeInteger },
  { name: 'timestamptz', parse: parseTimestamp },
];

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is not a safe integer`);
  return value;
}
