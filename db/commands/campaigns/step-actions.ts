import { sql } from 'slonik';
import { changeConversations } from '#db/commands/inbox/conversation-changes.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import { emitLeadEvents } from '#db/commands/contacts/lead-events.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { CampaignRow } from '#db/queries/campaigns/campaigns.ts';
import {
  addLeadsToList,
  addressesOf,
  changeLeadTexts,
  type LeadRow,
  listsOf,
  presentLead,
  removeLeadsFromList,
} from '#db/queries/contacts/leads.ts';
import { lockList } from '#db/queries/contacts/lists.ts';
import { lockConversation } from '#db/queries/sending/message-locks.ts';
import { wake } from '#db/wakes/wakes.ts';
import { type DoStep, type LeadActions, placedSteps } from '#domain/campaigns/step.ts';
import { fieldsAfter } from '#domain/campaigns/walk.ts';
import { changedTags } from '#domain/inbox/bulk-conversations.ts';
import { dealOut, ROUND_ROBIN } from '#domain/inbox/round-robin.ts';
import { availableMembers } from '#db/queries/inbox/absences.ts';
import { findInboxMember } from '#db/queries/inbox/inbox-members.ts';
import { MAX_TAGS } from '#domain/inbox/conversation.ts';
import { campaignWorkflowId } from '#workflows/protocol/workflow-ids.ts';

/** What the steps of campaigns do to leads. */

/** Locks the lists into which and from which steps move leads. @returns those that exist. */
export async function lockListsOfSteps(
  db: TenantDb,
  { steps, listId }: CampaignRow,
): Promise<ReadonlySet<string>> {
  const targets = placedSteps(steps).flatMap(({ step }) =>
    step.kind === 'do' && step.moveToListId !== undefined ? [step.moveToListId] : [],
  );
  const locked = new Set<string>();
  if (targets.length === 0) return locked;
  for (const id of [...new Set([...targets, ...(listId === null ? [] : [listId])])].toSorted())
    if (await lockList(db, id)) locked.add(id);
  return locked;
}

/** Locks the conversations that steps assign. */
export async function lockConversationsToAssign(
  db: TenantDb,
  walks: readonly { lead: LeadRow; does: readonly DoStep[] }[],
): Promise<void> {
  const addresses = walks.flatMap(({ lead, does }) =>
    does.some(({ assign }) => assign !== undefined) ? addressesOf(lead) : [],
  );
  for (const address of [...new Set(addresses)].toSorted()) await lockConversation(db, address);
}

/**
 * Carries out `do` steps, or what a rule does with a lead, in order. Requires `lockLeads`, and the locks of the lists, of the lead's
 * conversations, and in a campaign of its sequences.
 * @returns the lead afterwards.
 */
export async function carryOut(
  db: TenantDb,
  campaign: Pick<CampaignRow, 'name' | 'listId'>,
  lead: LeadRow,
  does: readonly LeadActions[],
  { now, lists }: { now: Date; lists: ReadonlySet<string> },
): Promise<LeadRow> {
  let changed = lead;
  for (const { addTags, removeTags, setFields = {}, moveToListId, assign, enterCampaignId } of does) {
    const tags = changedTags(changed.tags, { addTags, removeTags }).slice(0, MAX_TAGS);
    changed = { ...changed, ...fieldsAfter(changed, setFields), tags };
    if (moveToListId !== undefined && lists.has(moveToListId))
      await moveLead(db, lead, { from: campaign.listId, to: moveToListId });
    if (assign !== undefined) await assignAll(db, addressesOf(lead), assign, { name: campaign.name, now });
    if (enterCampaignId !== undefined) await sendOn(db, lead.id, enterCampaignId, now);
  }
  if (!isChanged(lead, changed)) return lead;
  const stored = await changeLeadTexts(db, changed);
  await emitLeadEvents(db, 'lead.updated', [stored], now);
  return stored;
}

/** Calls the webhooks that `do` steps name. One that was deleted gets nothing. @param lead as the steps have left it. */
export async function callWebhooks(
  db: TenantDb,
  { id, name }: Pick<CampaignRow, 'id' | 'name'>,
  lead: LeadRow,
  does: readonly DoStep[],
  now: Date,
): Promise<void> {
  for (const { id: stepId = '', webhook } of does)
    if (webhook !== undefined)
      await emitEvents(
        db,
        [
          {
            event: 'campaign.step',
            timestamp: now.toISOString(),
            workspaceId: db.workspaceId,
            campaignId: id,
            campaignName: name,
            leadId: lead.id,
            stepId,
            lead: presentLead(lead),
          },
        ],
        now,
        { to: webhook },
      );
}

/**
 * Assigns conversations to one member, or to whose turn it is. Requires their locks.
 * @param by.name of the campaign or the rule.
 */
export async function assignAll(
  db: TenantDb,
  addresses: readonly string[],
  assign: string | null,
  { name, now }: { name: string; now: Date },
): Promise<void> {
  const assigneeId = await assigneeOf(db, addresses, assign, now);
  if (assigneeId === undefined) return;
  await changeConversations(db, new Map(addresses.map((address) => [address, { assigneeId }])), {
    by: { type: 'system', id: null, name },
    now,
  });
}

/** The conversations of a lead go to one member; undefined: nothing changes, as everybody is away, or the one that is named has left. */
async function assigneeOf(
  db: TenantDb,
  addresses: readonly string[],
  assign: string | null,
  now: Date,
): Promise<string | null | undefined> {
  if (assign === null) return null;
  if (assign !== ROUND_ROBIN) return (await findInboxMember(db, assign))?.userId;
  const [next] = dealOut(await availableMembers(db, addresses, now), 1);
  return next;
}

const isChanged = (before: LeadRow, after: LeadRow): boolean =>
  JSON.stringify([before.tags, before.customFields, before.companyName, before.jobTitle, before.notes]) !==
  JSON.stringify([after.tags, after.customFields, after.companyName, after.jobTitle, after.notes]);

async function moveLead(
  db: TenantDb,
  lead: LeadRow,
  { from, to }: { from: string | null; to: string },
): Promise<void> {
  await addLeadsToList(db, [lead], to);
  const lists = (await listsOf(db, [lead])).get(lead.id) ?? [];
  if (from !== null && from !== to && lists.includes(from) && lists.length > 1)
    await removeLeadsFromList(db, [lead], from);
}

/** Has a lead enter another campaign, if that is active when its workflow comes to it. */
async function sendOn(db: TenantDb, leadId: string, campaignId: string, now: Date): Promise<void> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into campaign_candidates (workspace_id, campaign_id, lead_id, is_sent_on)
    select workspace_id, id, ${leadId}, true from campaigns
    where workspace_id = ${db.workspaceId} and id = ${campaignId} and status in ('active', 'paused') and deleted_at is null
    on conflict (workspace_id, campaign_id, lead_id) do update set is_sent_on = true`);
  if (rowCount > 0) wake(db, campaignWorkflowId(campaignId), now, 'leadsAdded');
}
