import { sql } from 'slonik';
import { z } from 'zod';
import { addLead } from '#db/commands/campaigns/added-lead.ts';
import { recordConsent } from '#db/commands/contacts/consents.ts';
import { byContact, isOutdated, optIn } from '#db/commands/contacts/opt-outs.ts';
import { emitLeadEvents, emitLeadsCreated } from '#db/commands/contacts/lead-events.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { contactOwners } from '#db/queries/accounts/workspace-users.ts';
import { lockCampaign } from '#db/queries/campaigns/campaigns.ts';
import {
  addLeadsToList,
  findLead,
  findLeadsByAddress,
  insertLeads,
  lockLead,
  setLeadTags,
} from '#db/queries/contacts/leads.ts';
import { lockList, lockListOrQuickSends } from '#db/queries/contacts/lists.ts';
import {
  countOptIn,
  findOptInLink,
  optInLinkOf,
  type OptInLinkRow,
} from '#db/queries/contacts/opt-in-links.ts';
import { verifyNumber } from '#db/queries/contacts/verifications.ts';
import type { InboundRow } from '#db/queries/inbox/replies.ts';
import { wake } from '#db/wakes/wakes.ts';
import { MAX_EVIDENCE } from '#domain/contacts/consent.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { BLANK_LEAD } from '#domain/contacts/lead.ts';
import { optInCodes, optInEvidence } from '#domain/contacts/opt-in-link.ts';
import { verificationCodes } from '#domain/contacts/verification.ts';
import { triggerTagRules } from '#db/commands/inbox/rule-triggers.ts';
import { changedTags, newTags } from '#domain/inbox/bulk-conversations.ts';
import { MAX_TAGS } from '#domain/inbox/conversation.ts';
import { optInCollectorId } from '#workflows/protocol/workflow-ids.ts';

/** The link whose code a message contains. */
export async function optInLinkIn(db: TenantDb, text: string): Promise<OptInLinkRow | null> {
  const codes = optInCodes(text);
  return codes.length > 0 ? optInLinkOf(db, codes) : null;
}

/**
 * What the codes in a contact's message mean: their consent, or that the number is theirs. Requires `lockContact`.
 * @param received.link null: there is none, or the message asks to stop.
 */
export async function receiveCodes(
  db: TenantDb,
  reply: InboundRow,
  { text, link, at }: { text: string; link: OptInLinkRow | null; at: Date },
  now: Date,
): Promise<void> {
  const { id: replyId, address } = reply;
  const digits = verificationCodes(text);
  if (digits.length > 0) await verifyNumber(db, { replyId, address, codes: digits, at });
  if (!link) return;
  // The latest wish counts, whatever the contact asked for before, and whatever arrives first.
  if (!(await isOutdated(db, address, 'start', at)))
    await optIn(db, address, { source: 'reply', author: byContact(replyId), replyId, at, now });
  const evidence = optInEvidence(link, text, MAX_EVIDENCE);
  const consent = { channel: 'any', status: 'granted', source: 'keyword' } as const;
  await recordConsent(db, { address, ...consent, evidence, at, replyId }, now);
  await db.query(sql.type(NoRows)`
    insert into opt_in_replies (workspace_id, reply_id, link_id) values (${db.workspaceId}, ${replyId}, ${link.id})`);
  wake(db, optInCollectorId(db.workspaceId), now, 'contactsJoined');
}

const OptInRow = z.object({
  replyId: z.string(),
  linkId: z.string(),
  address: z.string(),
  senderPhone: z.string().nullable(),
});
type OptIn = z.infer<typeof OptInRow>;

/** Messages whose senders are not saved as leads yet. */
export const waitingOptIns = (db: TenantDb, limit: number): Promise<readonly OptIn[]> =>
  db.any(sql.type(OptInRow)`
    select o.reply_id, o.link_id, i.address, i.sender_phone from opt_in_replies o
    join inbound_messages i on i.workspace_id = ${db.workspaceId} and i.id = o.reply_id
    where o.workspace_id = ${db.workspaceId}
    order by o.reply_id limit ${limit}`);

/** Saves the sender of a message as a lead, with the tags of the link, and enters it into the link's campaign. */
export async function enterOptIn(db: TenantDb, waiting: OptIn, now: Date): Promise<void> {
  const link = await findOptInLink(db, waiting.linkId);
  const campaign = link?.campaignId ? await lockCampaign(db, link.campaignId) : null;
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from opt_in_replies where workspace_id = ${db.workspaceId} and reply_id = ${waiting.replyId}`);
  if (rowCount === 0 || !link || isErased(waiting.address)) return;
  const { id, isNew } = await leadOf(db, link, waiting, now);
  const lead = campaign && campaign.status !== 'archived' ? await findLead(db, id) : null;
  if (campaign && lead) await addLead(db, campaign, lead, now);
  await countOptIn(db, link.id, { messages: 1, leads: isNew ? 1 : 0 });
}

/** Finds or creates the lead in the list of the link, or in Quick Sends if that list was deleted. */
async function leadOf(
  db: TenantDb,
  link: OptInLinkRow,
  { address, senderPhone }: OptIn,
  now: Date,
): Promise<{ id: string; isNew: boolean }> {
  const knownId = (await findLeadsByAddress(db, [address])).get(address);
  const known = knownId === undefined ? null : await lockLead(db, knownId);
  if (known) {
    if (link.listId !== null && (await lockList(db, link.listId)))
      await addLeadsToList(db, [known], link.listId);
    const tags = changedTags(known.tags, { addTags: link.tags }).slice(0, MAX_TAGS);
    if (tags.length > known.tags.length)
      await emitLeadEvents(db, 'lead.updated', [await setLeadTags(db, known.id, tags)], now);
    await triggerTagRules(db, known, newTags(known.tags, tags), now);
    return { id: known.id, isNew: false };
  }
  const target = await lockListOrQuickSends(db, link.listId);
  const contactOwnerEmail = (await contactOwners(db, []))(null);
  const written = senderPhone ?? address;
  const addresses = written.includes('@') ? { emails: [written] } : { phones: [written] };
  const lead = { ...BLANK_LEAD, ...addresses, contactOwnerEmail };
  const [saved] = await insertLeads(db, target, [lead], { source: 'opt-in link', now });
  if (!saved) throw new Error('the lead was not saved');
  if (saved.isNew && link.tags.length > 0) await setLeadTags(db, saved.id, link.tags);
  if (saved.isNew) await emitLeadsCreated(db, [saved.id], now);
  if (saved.isNew) await triggerTagRules(db, lead, link.tags, now);
  return saved;
}
