import { sql } from 'slonik';

/**
 * Any number of rows as one parameter, typed by the table they are meant for: what `unnest` cannot do for columns
 * that are arrays themselves. Keys are named as in TypeScript. As `json`, which costs less than `jsonb` to read once.
 */
export function recordset(table: string, rows: readonly Record<string, unknown>[]) {
  return sql.fragment`json_populate_recordset(null::${sql.identifier([table])}, ${JSON.stringify(rows.map(named))}::json)`;
}

/**
 * Ends an insert of rows that a query gives. Citus sends the rows of an insert that returns nothing by `copy`, which row-level
 * security refuses.
 */
export const ROWS_INSERTED = sql.fragment`returning null`;

/** Inserts rows into a table. Columns that this process does not know get their defaults. */
export function insertion(table: string, rows: readonly Record<string, unknown>[]) {
  const names = Object.keys(rows[0] ?? {}).map((name) => sql.identifier([snakeCase(name)]));
  const columns = sql.join(names, sql.fragment`, `);
  return sql.fragment`
    insert into ${sql.identifier([table])} (${columns}) select ${columns} from ${recordset(table, rows)} ${ROWS_INSERTED}`;
}

function named(row: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  // A missing key is read as null, and costs nothing.
  for (const key in row) if (row[key] !== null) result[snakeCase(key)] = row[key];
  return result;
}

const names = new Map<string, string>();

export function snakeCase(name: string): string {
  let result = names.get(name);
  if (result === undefined) {
    result = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    names.set(name, result);
  }
  return result;
}
