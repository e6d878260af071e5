import { isDeepStrictEqual } from 'node:util';
import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { notifyPositive } from '#db/commands/events/notifications.ts';
import { recordset } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { Reader } from '#db/queries/inbox/conversation-reads.ts';
import { isConversation, isListed } from '#db/queries/inbox/conversations.ts';
import type { AuditActor } from '#domain/accounts/audit.ts';
import type { Changed, Skipped } from '#domain/base/bulk.ts';
import {
  type BulkState,
  changedTags,
  newTags,
  type ConversationsChange,
} from '#domain/inbox/bulk-conversations.ts';
import { ConversationStatus, MAX_TAGS, statusAt } from '#domain/inbox/conversation.ts';
import { availableMembers } from '#db/queries/inbox/absences.ts';
import { listInboxMembers } from '#db/queries/inbox/inbox-members.ts';
import { dealOut } from '#domain/inbox/round-robin.ts';
import { isPositive } from '#domain/events/notification.ts';
import { type Happening, triggerRules } from './rule-triggers.ts';
import { changeConversations } from './conversation-changes.ts';

const StateRow = z.object({
  address: z.string(),
  status: ConversationStatus,
  snoozedUntil: z.date().nullable(),
  assigneeId: z.string().nullable(),
  tags: z.array(z.string()),
  lastInboundAt: z.date().nullable(),
  readAt: z.date().nullable(),
});
type StateRow = z.infer<typeof StateRow>;

interface Change {
  reader: Reader;
  by: AuditActor;
  now: Date;
}

interface Outcome {
  changed: Changed<BulkState>[];
  skipped: Skipped[];
}

/**
 * Changes conversations, each as by itself.
 * @param filter what they still meet under their lock; null: they were named, and may be unlisted.
 */
export async function changeMany(
  db: TenantDb,
  addresses: readonly string[],
  filter: readonly FragmentSqlToken[] | null,
  change: ConversationsChange,
  context: Change,
): Promise<Outcome> {
  const condition =
    filter === null ? isConversation(db) : sql.fragment`${sql.and([isListed(db), ...filter])}`;
  const turns =
    change.assign === undefined
      ? []
      : dealOut(await availableMembers(db, addresses, context.now), addresses.length);
  return apply(db, addresses, condition, context, (row) => {
    const before = shownState(row, context.now);
    const after: BulkState = {};
    if (change.status !== undefined) {
      after.status = change.status;
      after.snoozedUntil = change.snoozedUntil ? new Date(change.snoozedUntil).toISOString() : null;
    }
    if (change.assigneeId !== undefined) after.assigneeId = change.assigneeId;
    const next = turns.shift();
    if (next !== undefined) after.assigneeId = next;
    if (change.addTags ?? change.removeTags) after.tags = changedTags(row.tags, change);
    if (after.tags && after.tags.length > MAX_TAGS) return 'too_many_tags';
    if (change.read) after.readAt = laterOf(before.readAt ?? null, row.lastInboundAt ?? context.now);
    return after;
  });
}

/** Restores what a bulk change has changed, unless somebody has changed it since, or the member has left who would get it back. */
export async function undoMany(
  db: TenantDb,
  changes: ReadonlyMap<string, Changed<unknown>>,
  context: Change,
): Promise<Outcome> {
  const former = [...changes.values()].flatMap(({ before }) => (before as BulkState).assigneeId ?? []);
  const members = new Set((await listInboxMembers(db, [...new Set(former)])).map(({ userId }) => userId));
  return apply(db, [...changes.keys()], sql.fragment`true`, context, (row) => {
    const { before, after } = changes.get(row.address) as Changed<BulkState>;
    const isAsLeft = isDeepStrictEqual(picked(shownState(row, context.now), after), after);
    const hasLeft = typeof before.assigneeId === 'string' && !members.has(before.assigneeId);
    return isAsLeft && !hasLeft ? before : 'changed_since';
  });
}

async function apply(
  db: TenantDb,
  addresses: readonly string[],
  condition: FragmentSqlToken,
  { reader, by, now }: Change,
  stateAfter: (row: StateRow) => BulkState | Skipped['reason'],
): Promise<Outcome> {
  const rows = await db.any(sql.type(StateRow)`
    select c.address, c.status, c.snoozed_until, c.assignee_id, c.tags,
      -- Rounded up, because a JavaScript time has milliseconds.
      date_trunc('milliseconds', c.last_inbound_at + interval '999 microseconds') last_inbound_at, (
      select r.read_at from conversation_reads r
      where r.workspace_id = ${db.workspaceId} and r.address = c.address and r.user_id = ${reader.userId}) read_at
    from conversations c
    where c.workspace_id = ${db.workspaceId} and c.address = any(${sql.array([...addresses], 'text')}) and ${condition}
    order by c.address for no key update of c`);
  const found = new Map(rows.map((row) => [row.address, row]));
  const changed: Changed<BulkState>[] = [];
  const skipped: Skipped[] = [];
  for (const address of addresses) {
    const row = found.get(address);
    const after = row ? stateAfter(row) : 'not_found';
    if (!row || typeof after === 'string') {
      skipped.push({ item: address, reason: typeof after === 'string' ? after : 'not_found' });
      continue;
    }
    const before = picked(shownState(row, now), after);
    if (isDeepStrictEqual(before, after)) skipped.push({ item: address, reason: 'unchanged' });
    else changed.push({ item: address, before, after });
  }
  await changeConversations(
    db,
    new Map(
      changed.flatMap(({ item, after: { status, snoozedUntil, assigneeId } }) =>
        status === undefined && assigneeId === undefined
          ? []
          : [[item, { status, assigneeId, snoozedUntil: snoozedUntil ? new Date(snoozedUntil) : undefined }]],
      ),
    ),
    { by, now },
  );
  await setTagsOf(db, changed, now);
  await setReads(db, changed, reader);
  return { changed, skipped };
}

async function setTagsOf(db: TenantDb, changed: readonly Changed<BulkState>[], now: Date): Promise<void> {
  const tagged = changed.flatMap(({ item, after: { tags } }) => (tags ? [{ address: item, tags }] : []));
  if (tagged.length === 0) return;
  await db.query(sql.type(NoRows)`
    update conversations c set tags = n.tags from ${recordset('conversations', tagged)} n
    where c.workspace_id = ${db.workspaceId} and c.address = n.address`);
  await triggerRules(db, changed.flatMap(addedTags), now);
  for (const { address, tags } of tagged) if (isPositive(tags)) await notifyPositive(db, address, now);
}

const addedTags = ({ item: address, before, after }: Changed<BulkState>): Happening[] => {
  const tags = newTags(before.tags ?? [], after.tags ?? []);
  return tags.length === 0 ? [] : [{ on: 'tag_added', address, lineId: null, tags }];
};

async function setReads(
  db: TenantDb,
  changed: readonly Changed<BulkState>[],
  { userId }: Reader,
): Promise<void> {
  const reads = changed.flatMap(({ item, after: { readAt } }) =>
    readAt === undefined ? [] : [{ address: item, readAt }],
  );
  const unread = reads.filter(({ readAt }) => readAt === null).map(({ address }) => address);
  if (unread.length > 0)
    await db.query(sql.type(NoRows)`
      delete from conversation_reads
      where workspace_id = ${db.workspaceId} and user_id = ${userId} and address = any(${sql.array(unread, 'text')})`);
  const read = reads.filter(({ readAt }) => readAt !== null);
  if (read.length > 0)
    await db.query(sql.type(NoRows)`
      insert into conversation_reads (workspace_id, address, user_id, read_at)
      select ${db.workspaceId}, address, ${userId}, read_at from ${recordset('conversation_reads', read)}
      on conflict (workspace_id, address, user_id) do update set read_at = excluded.read_at returning null`);
}

/** As it is shown, in the form in which it is stored for an undo. */
function shownState(row: StateRow, now: Date): BulkState {
  const status = statusAt(row, now);
  return {
    status,
    snoozedUntil: status === 'snoozed' ? (row.snoozedUntil?.toISOString() ?? null) : null,
    assigneeId: row.assigneeId,
    tags: row.tags,
    readAt: row.readAt?.toISOString() ?? null,
  };
}

/** The fields of a state that another one has. */
const picked = (state: BulkState, like: BulkState): BulkState =>
  Object.fromEntries(Object.keys(like).map((name) => [name, state[name as keyof BulkState]]));

const laterOf = (at: string | null, other: Date): string =>
  at !== null && new Date(at) > other ? at : other.toISOString();
