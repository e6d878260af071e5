import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

/** @throws when the database does not respond. */
export async function ping(db: SystemDb): Promise<void> {
  await db.query(sql.type(NoRows)`select`);
}

const ExistsRow = z.object({ exists: z.boolean() });

/** Whether the database has a migration. It may have newer ones, because processes of the previous release keep working with them. */
export async function hasMigration(db: SystemDb, name: string): Promise<boolean> {
  return db.oneFirst(sql.type(ExistsRow)`select exists (select from migrations where name = ${name})`);
}
