import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { emitEvents, type NewEvent } from '#db/commands/events/events.ts';
import { releaseOfClosed } from '#db/commands/sending/person-releases.ts';
import { findLeadsByAddress } from '#db/queries/contacts/leads.ts';
import { triggerRules } from './rule-triggers.ts';
import { recordset } from '#db/connection/recordset.ts';
import { AddressRow, NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import type { AuditActor } from '#domain/accounts/audit.ts';
import { ConversationStatus, statusAt } from '#domain/inbox/conversation.ts';

const StateRow = z.object({
  status: ConversationStatus,
  snoozedUntil: z.date().nullable(),
  assigneeId: z.string().nullable(),
});
type State = z.infer<typeof StateRow>;
const StateOfRow = StateRow.extend({ address: z.string() });

/** Omitted fields do not change. */
export interface ConversationChange {
  status?: ConversationStatus | undefined;
  snoozedUntil?: Date | undefined;
  assigneeId?: string | null | undefined;
}

type By = Pick<AuditActor, 'type' | 'id'>;

const SYSTEM: By = { type: 'system', id: null };

/** Changes the status or the assignee of conversations, with an event for each actual change. Requires their locks. */
export async function changeConversations(
  db: TenantDb,
  changes: ReadonlyMap<string, ConversationChange>,
  { by, now }: { by: AuditActor; now: Date },
): Promise<void> {
  if (changes.size === 0) return;
  const addresses = [...changes.keys()];
  const states = await db.any(sql.type(StateOfRow)`
    select address, status, snoozed_until, assignee_id from conversations
    where workspace_id = ${db.workspaceId} and address = any(${sql.array(addresses, 'text')}) order by address`);
  const changed = states.map(({ address, ...before }) => ({
    address,
    before,
    after: stateAfter(before, changes.get(address) ?? {}, now),
  }));
  await db.query(sql.type(NoRows)`
    update conversations c set status = n.status, snoozed_until = n.snoozed_until, assignee_id = n.assignee_id,
      closed_at = case when n.status = 'closed' and c.status <> 'closed' then ${sql.timestamp(now)} else c.closed_at end
    from ${recordset(
      'conversations',
      changed.map(({ address, after }) => ({ address, ...after })),
    )} n
    where c.workspace_id = ${db.workspaceId} and c.address = n.address`);
  const closed = changed.filter(
    ({ before, after }) => after.status === 'closed' && before.status !== 'closed',
  );
  await releaseOfClosed(
    db,
    closed.map(({ address }) => address),
    now,
  );
  // Only what a person or a program opens: what a rule does triggers none.
  if (by.type !== 'system')
    await triggerRules(
      db,
      changed
        .filter(({ before, after }) => after.status === 'open' && statusAt(before, now) !== 'open')
        .map(({ address }) => ({ on: 'conversation_opened', address, lineId: null })),
      now,
    );
  const leads = await findLeadsByAddress(db, addresses);
  await emitEvents(
    db,
    changed.flatMap(({ address, before, after }) =>
      eventsOf(head(db, address, leads.get(address), by, now), before, after, now),
    ),
    now,
  );
}

function stateAfter(
  before: State,
  { status, snoozedUntil, assigneeId }: ConversationChange,
  now: Date,
): State {
  const after = {
    ...(status === undefined
      ? { status: statusAt(before, now), snoozedUntil: before.snoozedUntil }
      : { status, snoozedUntil: snoozedUntil ?? null }),
    assigneeId: assigneeId === undefined ? before.assigneeId : assigneeId,
  };
  return after.status === 'snoozed' ? after : { ...after, snoozedUntil: null };
}

function eventsOf(about: Head, before: State, after: State, now: Date): NewEvent[] {
  const ended = hasEnded(before, now);
  const from = ended ? 'open' : before.status;
  const isSnoozedOtherwise =
    after.status === 'snoozed' && after.snoozedUntil?.getTime() !== before.snoozedUntil?.getTime();
  const events: NewEvent[] = [];
  if (ended) events.push(snoozeEnded({ ...about, by: SYSTEM }));
  if (from !== after.status || isSnoozedOtherwise)
    events.push(statusChanged(about, { from, to: after.status, snoozedUntil: after.snoozedUntil }));
  if (before.assigneeId !== after.assigneeId)
    events.push(assigned(about, before.assigneeId, after.assigneeId));
  return events;
}

/** Opens a closed or snoozed conversation because the contact wrote. Requires the lock of the conversation. */
export async function reopenConversation(
  db: TenantDb,
  address: string,
  before: Pick<State, 'status' | 'snoozedUntil'>,
  now: Date,
): Promise<void> {
  if (before.status === 'open') return;
  await db.query(sql.type(NoRows)`
    update conversations set status = 'open', snoozed_until = null
    where workspace_id = ${db.workspaceId} and address = ${address}`);
  const head = await headOf(db, address, SYSTEM, now);
  await emitEvents(db, [statusChanged(head, { from: before.status, to: 'open', snoozedUntil: null })], now);
}

/** Whether its snooze is over, although `endSnoozes` has not recorded it yet. */
const hasEnded = (state: Pick<State, 'status' | 'snoozedUntil'>, now: Date): boolean =>
  statusAt(state, now) !== state.status;

const EndedRow = z.object({ workspaceId: z.string(), address: z.string() });

/** Snoozes that have ended according to the clocks of their workspaces, the earliest first. */
export async function endedSnoozes(
  db: SystemDb,
  limit: number,
): Promise<readonly { workspaceId: string; address: string }[]> {
  return db.any(sql.type(EndedRow)`
    select workspace_id, address from (
      select workspace_id, address, snoozed_until from conversations
      where status = 'snoozed' and snoozed_until <= now()
      union
      select c.workspace_id, c.address, c.snoozed_until from test_clocks t
      join conversations c on c.workspace_id = t.workspace_id
      where c.status = 'snoozed' and c.snoozed_until <= now() + t.ahead_ms * interval '1 millisecond'
    ) ended order by snoozed_until limit ${limit}`);
}

/** Opens the conversations whose snooze is over, with an event for each. @param among null: of all conversations. */
export async function endSnoozes(db: TenantDb, among: readonly string[] | null, now: Date): Promise<void> {
  const isAmong =
    among === null ? sql.fragment`true` : sql.fragment`c.address = any(${sql.array([...among], 'text')})`;
  await changeAll(
    db,
    sql.fragment`${isAmong} and c.status = 'snoozed' and c.snoozed_until <= ${sql.timestamp(now)}`,
    sql.fragment`status = 'open', snoozed_until = null`,
    snoozeEnded,
    { by: SYSTEM, now },
  );
}

/** Unassigns the conversations of a removed member. */
export async function unassignMember(db: TenantDb, userId: string, by: AuditActor, now: Date): Promise<void> {
  await changeAll(
    db,
    sql.fragment`c.assignee_id = ${userId}`,
    sql.fragment`assignee_id = null`,
    (about) => assigned(about, userId, null),
    { by, now },
  );
}

/** Makes the same change to several conversations, which it locks in one order. */
async function changeAll(
  db: TenantDb,
  condition: FragmentSqlToken,
  change: FragmentSqlToken,
  eventOf: (about: Head) => NewEvent,
  { by, now }: { by: By; now: Date },
): Promise<void> {
  const addresses = await db.anyFirst(sql.type(AddressRow)`
    with held as materialized (
      select c.address from conversations c where c.workspace_id = ${db.workspaceId} and ${condition}
      order by c.address for no key update
    )
    update conversations c set ${change}
    from held where c.workspace_id = ${db.workspaceId} and c.address = held.address
    returning c.address`);
  const leads = await findLeadsByAddress(db, addresses);
  const events = addresses
    .filter((address) => !address.startsWith('erased:'))
    .map((address) => eventOf(head(db, address, leads.get(address), by, now)));
  await emitEvents(db, events, now);
}

type Head = ReturnType<typeof head>;

const head = (db: TenantDb, address: string, leadId: string | undefined, { type, id }: By, now: Date) => ({
  timestamp: now.toISOString(),
  workspaceId: db.workspaceId,
  address,
  ...(leadId !== undefined && { leadId }),
  by: { type, id },
});

const headOf = async (db: TenantDb, address: string, by: By, now: Date): Promise<Head> =>
  head(db, address, (await findLeadsByAddress(db, [address])).get(address), by, now);

const assigned = (about: Head, from: string | null, to: string | null): NewEvent => ({
  event: 'conversation.assigned',
  ...about,
  from,
  to,
});

const snoozeEnded = (about: Head): NewEvent =>
  statusChanged(about, { from: 'snoozed', to: 'open', snoozedUntil: null });

const statusChanged = (
  about: Head,
  { from, to, snoozedUntil }: { from: ConversationStatus; to: ConversationStatus; snoozedUntil: Date | null },
): NewEvent => ({
  event: 'conversation.status_changed',
  ...about,
  from,
  to,
  snoozedUntil: snoozedUntil?.toISOString() ?? null,
});
