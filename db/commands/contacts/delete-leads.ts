import { sql } from 'slonik';
import { emitLeadEvents } from './lead-events.ts';
import { cancelMessagesOfLeads } from '#db/commands/campaigns/campaign-stops.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { deleteLeadFromLists, type LeadRow, lockListsOf } from '#db/queries/contacts/leads.ts';

/** Deletes leads and cancels their unsent messages. Requires `lockLeads`. */
export async function deleteLeads(db: TenantDb, leads: readonly LeadRow[], now: Date): Promise<void> {
  if (leads.length === 0) return;
  await lockListsOf(db, ...leads);
  const ids = sql.array(
    leads.map(({ id }) => id),
    'text',
  );
  await cancelMessagesOfLeads(db, sql.fragment`select unnest(${ids})`, now);
  for (const lead of leads) await deleteLeadFromLists(db, lead);
  await emitLeadEvents(db, 'lead.deleted', leads, now);
}
