import { followLeadChanges } from '#db/commands/campaigns/lead-changes.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { findLeads, type LeadRow, presentLead } from '#db/queries/contacts/leads.ts';

/** Emits an event for each of the leads, and has campaigns look at them. */
export async function emitLeadEvents(
  db: TenantDb,
  event: 'lead.created' | 'lead.updated' | 'lead.deleted',
  leads: readonly LeadRow[],
  now: Date,
): Promise<void> {
  if (event !== 'lead.deleted')
    await followLeadChanges(
      db,
      leads.map(({ id }) => id),
      now,
    );
  await emitEvents(
    db,
    leads.map((row) => ({
      event,
      timestamp: now.toISOString(),
      workspaceId: db.workspaceId,
      leadId: row.id,
      listId: row.listId,
      lead: presentLead(row),
    })),
    now,
  );
}

/** Leads whose events are written at once, so that 10,000 of a request do not hold the event loop. */
const PART = 250;

/** Emits `lead.created` of leads by their ids. */
export async function emitLeadsCreated(db: TenantDb, ids: readonly string[], now: Date): Promise<void> {
  for (let start = 0; start < ids.length; start += PART) {
    const leads = await findLeads(db, ids.slice(start, start + PART));
    await emitLeadEvents(db, 'lead.created', [...leads.values()], now);
  }
}
