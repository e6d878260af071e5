import { sql } from 'slonik';
import { NoRows } from './rows.ts';
import type { TenantDb } from './transactions.ts';

/**
 * Reads rows in the order of an index. Otherwise PostgreSQL, which may estimate few of them, would read all rows, sort them and take
 * the first ones.
 */
export async function inIndexOrder<T>(db: TenantDb, read: () => Promise<T>): Promise<T> {
  const sorts = (value: 'on' | 'off') =>
    db.query(sql.type(NoRows)`select from set_local('enable_sort', ${value})`);
  await sorts('off');
  const rows = await read();
  await sorts('on');
  return rows;
}
