import { sql } from 'slonik';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';
import type { Presence } from '#domain/presence.ts';

export const PRESENCE_CHANNEL = 'conversation_presence';

/** Tells all API processes once the transaction is committed. Nothing is stored. */
export async function announcePresence(db: TenantDb, presence: Presence): Promise<void> {
  await db.query(sql.type(NoRows)`select pg_notify(${PRESENCE_CHANNEL}, ${JSON.stringify(presence)})`);
}
