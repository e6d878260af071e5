import { sql } from 'slonik';
import { cancelMessagesOfLeads } from '#db/commands/campaigns/campaign-stops.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { deleteLeadFromLists, type LeadRow, lockListsOf } from '#db/queries/contacts/leads.ts';

/** Deletes a lead and cancels its unsent messages. Requires `lockLead`. */
export async function deleteLead(db: TenantDb, lead: LeadRow, now: Date): Promise<void> {
  await lockListsOf(db, lead);
  await cancelMessagesOfLeads(db, sql.fragment`select ${lead.id}`, now);
  await deleteLeadFromLists(db, lead);
}
