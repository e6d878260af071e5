import { sql } from 'slonik';
import { Nothing, type SystemDb } from '#db/pool.ts';

/** How long what nobody will ask for again is kept, by the column that tells its age. */
const KEPT = [
  ['idempotency_keys', 'created_at', '24 hours'],
  ['agency_idempotency_keys', 'created_at', '24 hours'],
  ['drip_fingerprints', 'created_at', '60 minutes'],
  ['carrier_events', 'received_at', '30 days'],
  ['unreadable_inbound', 'created_at', '30 days'],
  ['payment_events', 'received_at', '30 days'],
  ['webhook_deliveries', 'created_at', '30 days'],
  ['events', 'created_at', '30 days'],
  ['mails', 'created_at', '30 days'],
  ['agency_mails', 'created_at', '30 days'],
] as const;

const BATCH = 5000;

/**
 * Deletes a batch of aged rows of every such table. In small statements, and rows that are in use are passed over,
 * so that nobody waits for it; what is left over goes the next time.
 * @returns the number of rows deleted.
 */
export async function trimAged(db: SystemDb): Promise<number> {
  let trimmed = 0;
  for (const [table, column, age] of KEPT) {
    const name = sql.identifier([table]);
    const { rowCount } = await db.query(sql.type(Nothing)`
      delete from ${name} where ctid = any (array(
        select ctid from ${name} where ${sql.identifier([column])} < now() - ${age}::interval
        limit ${BATCH} for update skip locked
      ))`);
    trimmed += rowCount;
  }
  return trimmed;
}
