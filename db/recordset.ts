import { sql } from 'slonik';

/**
 * Any number of rows as one parameter, typed by the table they are meant for: what `unnest` cannot do for columns
 * that are arrays themselves. Keys are named as in TypeScript.
 */
export function recordset(table: string, rows: readonly Record<string, unknown>[]) {
  const named = rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([key, value]) => [snakeCase(key), value])),
  );
  return sql.fragment`jsonb_populate_recordset(null::${sql.identifier([table])}, ${sql.jsonb(named)})`;
}

export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
