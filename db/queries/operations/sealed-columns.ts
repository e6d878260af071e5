import { type QuerySqlToken, sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

/** A column with encrypted values: plain text, a JSON string, or fields of a JSON object. */
export interface SealedColumn {
  table: string;
  column: string;
  /** The primary key; its first column is the workspace or the agency. */
  key: readonly string[];
  kind: 'text' | 'json-string' | 'json-object';
  /** The column that determines which fields of the JSON object are encrypted. */
  schemaColumn?: string;
}

const Row = z.object({ key: z.array(z.string()), value: z.string(), schema: z.string().nullable() });
export type SealedRow = z.infer<typeof Row>;

const names = (key: readonly string[]) =>
  sql.join(
    key.map((name) => sql.identifier([name])),
    sql.fragment`, `,
  );
const values = (key: readonly string[]) =>
  sql.join(
    key.map((value) => sql.fragment`${value}`),
    sql.fragment`, `,
  );

function textOf({ column, kind }: SealedColumn) {
  const name = sql.identifier([column]);
  if (kind === 'json-string') return sql.fragment`(${name} #>> '{}')`;
  return kind === 'json-object' ? sql.fragment`${name}::text` : name;
}

function stored(text: string, { kind }: SealedColumn) {
  if (kind === 'json-string') return sql.fragment`to_jsonb(${text}::text)`;
  return kind === 'json-object' ? sql.fragment`${text}::jsonb` : sql.fragment`${text}`;
}

/**
 * The next rows that may hold a value encrypted with another key than the current one, in primary key order.
 * @param current the prefix of values encrypted with the current key.
 * @param after the primary key of the last row; null: start at the first.
 */
export async function staleRows(
  db: SystemDb,
  target: SealedColumn,
  { current, after, limit }: { current: string; after: readonly string[] | null; limit: number },
): Promise<SealedRow[]> {
  const text = textOf(target);
  const isStale =
    target.kind === 'json-object'
      ? sql.fragment`position('"v1.' in ${text}) > 0`
      : sql.fragment`starts_with(${text}, 'v1.') and not starts_with(${text}, ${current})`;
  const query: QuerySqlToken<typeof Row> = sql.type(Row)`
    select array[${sql.join(
      target.key.map((name) => sql.fragment`${sql.identifier([name])}::text`),
      sql.fragment`, `,
    )}] key, ${text} value, ${target.schemaColumn === undefined ? sql.fragment`null` : sql.identifier([target.schemaColumn])} schema
    from ${sql.identifier([target.table])}
    where ${isStale} and ${after ? sql.fragment`(${names(target.key)}) > (${values(after)})` : sql.fragment`true`}
    order by ${names(target.key)} limit ${limit}`;
  return [...(await db.any(query))];
}

/** Replaces the value that was read. @returns false if it was changed concurrently. */
export async function replaceSealed(
  db: SystemDb,
  target: SealedColumn,
  { key, value }: SealedRow,
  text: string,
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update ${sql.identifier([target.table])} set ${sql.identifier([target.column])} = ${stored(text, target)}
    where (${names(target.key)}) = (${values(key)}) and ${textOf(target)} = ${value}`);
  return rowCount > 0;
}
