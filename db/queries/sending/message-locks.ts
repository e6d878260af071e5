import { sql } from 'slonik';
import { z } from 'zod';
import { lockLinesShared } from '../lines/lines.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/** Locks the conversation with an address. Serializes receiving from it, queueing for it and drafting to it. */
export async function lockConversation(db: TenantDb, address: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    select from conversations where workspace_id = ${db.workspaceId} and address = ${address} for no key update`);
}

/** Locks the conversation with an address that may not exist yet. */
export async function lockFirstConversation(db: TenantDb, address: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into conversations (workspace_id, address) values (${db.workspaceId}, ${address}) on conflict do nothing`);
  await lockConversation(db, address);
}

/** Like `lockFirstConversation`, for several, in one order. */
export async function lockFirstConversations(db: TenantDb, addresses: readonly string[]): Promise<void> {
  if (addresses.length === 0) return;
  const these = sql.array(addresses.toSorted(), 'text');
  await db.query(sql.type(NoRows)`
    insert into conversations (workspace_id, address) select ${db.workspaceId}, address from unnest(${these}) address
    on conflict do nothing`);
  await db.query(sql.type(NoRows)`
    select from conversations where workspace_id = ${db.workspaceId} and address = any(${these})
    order by address for no key update`);
}

/**
 * Locks the conversation that a message answers in, and before it, in share mode, the lines that the message may leave
 * through: the conversation's own and `lineId`.
 */
export async function lockConversationToAnswer(
  db: TenantDb,
  address: string,
  lineId: string | null,
): Promise<void> {
  const own = await db.maybeOneFirst(sql.type(z.object({ lineId: z.string().nullable() }))`
    select line_id from conversations where workspace_id = ${db.workspaceId} and address = ${address}`);
  await lockLinesShared(
    db,
    [own, lineId].filter((id) => id !== null),
  );
  await lockConversation(db, address);
}

const Sequence = z.object({ campaignId: z.string(), leadId: z.string() });
type Sequence = z.infer<typeof Sequence>;

const inOrder = sql.fragment`order by campaign_id, lead_id for no key update`;

/**
 * Locks everything that finishing these messages may change: the messages, the sequences they belong to, and the
 * remaining messages of those. Call it before changing any of them (docs/architecture.md, "Lock order").
 */
export async function lockSequences(db: TenantDb, messageIds: readonly string[]): Promise<void> {
  const ids = sql.array([...messageIds], 'text');
  const sequences = await db.any(sql.type(Sequence)`
    select campaign_id, lead_id from campaign_leads
    where workspace_id = ${db.workspaceId} and (campaign_id, lead_id) in (
      select campaign_id, lead_id from messages where workspace_id = ${db.workspaceId} and id = any(${ids}))
    ${inOrder}`);
  await lockMessages(db, sql.fragment`select unnest(${ids})`, sequences);
}

/** Locks the sequence of a lead in a campaign, and its unsent messages. @returns whether it has entered. */
export async function lockSequence(db: TenantDb, campaignId: string, leadId: string): Promise<boolean> {
  const sequences = await db.any(sql.type(Sequence)`
    select campaign_id, lead_id from campaign_leads
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and lead_id = ${leadId} ${inOrder}`);
  await lockMessages(db, sql.fragment`select unnest('{}'::text[])`, sequences);
  return sequences.length > 0;
}

/** Locks the running sequences of a lead, and their unsent messages. */
export async function lockSequencesOf(db: TenantDb, leadId: string): Promise<void> {
  const sequences = await db.any(sql.type(Sequence)`
    select campaign_id, lead_id from campaign_leads
    where workspace_id = ${db.workspaceId} and lead_id = ${leadId} and state = 'running' ${inOrder}`);
  await lockMessages(db, sql.fragment`select unnest('{}'::text[])`, sequences);
}

/** Locks the running sequences of these leads, and of those written to at these addresses, and their unsent messages. */
export async function lockSequencesTo(
  db: TenantDb,
  addresses: readonly string[],
  leadIds: readonly string[],
): Promise<void> {
  const sequences = await db.any(sql.type(Sequence)`
    select campaign_id, lead_id from campaign_leads
    where workspace_id = ${db.workspaceId} and state = 'running' and lead_id in (
      select unnest(${sql.array([...leadIds], 'text')}) union all
      select lead_id from messages
      where workspace_id = ${db.workspaceId} and campaign_id is not null and address = any(${sql.array([...addresses], 'text')}))
    ${inOrder}`);
  await lockMessages(db, sql.fragment`select unnest('{}'::text[])`, sequences);
}

/**
 * Locks everything that a reply from this contact may change: its conversation, its running sequences, and the unsent
 * messages to it and of those sequences. Call it before changing any of them.
 */
export async function lockContact(
  db: TenantDb,
  address: string,
  messageIds: readonly string[] = [],
): Promise<void> {
  await lockConversation(db, address);
  const ids = sql.array([...messageIds], 'text');
  const sequences = await db.any(sql.type(Sequence)`
    select campaign_id, lead_id from campaign_leads
    where workspace_id = ${db.workspaceId} and state = 'running' and lead_id in (
        select lead_id from list_addresses where workspace_id = ${db.workspaceId} and address = ${address}
        union all
        select lead_id from messages
        where workspace_id = ${db.workspaceId} and campaign_id is not null and (address = ${address} or id = any(${ids}))
      )
    ${inOrder}`);
  const waiting = sql.fragment`
    select unnest(${ids}) union all
    select id from messages
    where workspace_id = ${db.workspaceId} and address = ${address} and status in ('pending', 'scheduled')`;
  await lockMessages(db, waiting, sequences);
}

/** Locks messages in id order. @param ids a query for their ids; the unsent messages of `sequences` are added. */
async function lockMessages(
  db: TenantDb,
  ids: ReturnType<typeof sql.fragment>,
  sequences: readonly Sequence[],
): Promise<void> {
  const rows = sequences.map(({ campaignId, leadId }) => [campaignId, leadId]);
  await db.query(sql.type(NoRows)`
    select from messages where workspace_id = ${db.workspaceId} and id = any(array(
      ${ids} union all
      select m.id from ${sql.unnest(rows, ['text', 'text'])} as s (campaign_id, lead_id)
      join messages m on m.workspace_id = ${db.workspaceId} and m.campaign_id = s.campaign_id and m.lead_id = s.lead_id
        and m.status in ('pending', 'scheduled')
    )) order by id for no key update`);
}
