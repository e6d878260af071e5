import { followLeadChanges } from '#db/commands/campaigns/lead-changes.ts';
import { BLANK_LEAD, type NormalizedLead } from '#domain/contacts/lead.ts';
import type { AcceptedMessage } from '#domain/messages/accepted-message.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { findLeadsByAddress, insertLeads } from '#db/queries/contacts/leads.ts';
import { lockList, quickSendsList } from '#db/queries/contacts/lists.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { contactOwners } from '#db/queries/accounts/workspace-users.ts';

/**
 * Assigns each message the lead with its address. An unknown phone number becomes a lead in Quick Sends. Uses a constant
 * number of queries, one if all leads are known.
 */
export async function ensureLeads(
  db: TenantDb,
  messages: readonly AcceptedMessage[],
  now: Date,
): Promise<AcceptedMessage[]> {
  const unknown = messages.filter(({ leadId }) => leadId === null);
  const known = await findLeadsByAddress(
    db,
    unknown.map(({ address }) => address),
  );
  const strangers = unknown.filter(
    ({ address, recipientPhone }) =>
      recipientPhone !== null && address === contactKey(recipientPhone) && !known.has(address),
  );
  if (strangers.length > 0) {
    const listId = await quickSendsList(db);
    await lockList(db, listId);
    const owner = (await contactOwners(db, []))(null);
    const saved = await insertLeads(
      db,
      listId,
      strangers.map((message) => newLead(message, owner)),
      { source: 'message', now },
    );
    await followLeadChanges(
      db,
      saved.map(({ id }) => id),
      now,
    );
    strangers.forEach(({ address }, index) => known.set(address, saved[index]?.id ?? ''));
  }
  return messages.map((message) => ({
    ...message,
    leadId: message.leadId ?? known.get(message.address) ?? null,
  }));
}

function newLead(
  { recipientName, recipientPhone, recipientEmail }: AcceptedMessage,
  owner: string | null,
): NormalizedLead {
  const [firstName = '', ...others] = (recipientName ?? '').trim().split(/\s+/);
  return {
    ...BLANK_LEAD,
    firstName,
    lastName: others.join(' '),
    emails: recipientEmail === null ? [] : [recipientEmail],
    phones: recipientPhone === null ? [] : [recipientPhone],
    contactOwnerEmail: owner,
  };
}
