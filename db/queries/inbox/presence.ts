import { sql } from 'slonik';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

export const PRESENCE_CHANNEL = 'conversation_presence';

/**
 * Tells all API processes once the transaction is committed. Nothing is stored.
 * @param sealed encrypted, because every login of the database may listen, and notify.
 */
export async function announcePresence(db: TenantDb, sealed: string): Promise<void> {
  await db.query(sql.type(NoRows)`select pg_notify(${PRESENCE_CHANNEL}, ${sealed})`);
}
