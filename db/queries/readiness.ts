import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/rows.ts';
import type { SystemDb } from '#db/transactions.ts';

/** @throws when the database does not respond. */
export async function ping(db: SystemDb): Promise<void> {
  await db.query(sql.type(NoRows)`select`);
}

const NameRow = z.object({ name: z.string() });

/** The newest migration that the database has; null: none. */
export async function appliedMigration(db: SystemDb): Promise<string | null> {
  return db.maybeOneFirst(sql.type(NameRow)`select name from migrations order by name desc limit 1`);
}
