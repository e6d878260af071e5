import type { LeadRow } from '../contacts/leads.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { Facts } from '#domain/campaigns/judge.ts';
import { BLANK_LEAD } from '#domain/contacts/lead.ts';

/** A contact without a lead, of whom only the address is known. @param written their number as they wrote or called from it. */
export const strangerAt = (db: TenantDb, address: string, written: string | null, now: Date): LeadRow => ({
  ...BLANK_LEAD,
  ...(address.includes('@') ? { emails: [address] } : { phones: [written ?? address] }),
  id: address,
  workspaceId: db.workspaceId,
  listId: '',
  tags: [],
  status: null,
  source: null,
  createdAt: now,
  updatedAt: now,
});

/** What is known when the contact writes a message: those before it caused other runs. */
export const aboutReply = (facts: Facts, reply: { at: Date; text: string }): Facts => ({
  ...facts,
  replies: [reply],
});
