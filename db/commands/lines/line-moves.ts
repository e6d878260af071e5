import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'slonik';
import { currentTime } from '#domain/base/clock.ts';
import { newId } from '#domain/base/ids.ts';
import { NO_CARRIER } from '#domain/lines/line.ts';
import { ON_ITS_WAY_MS } from '#domain/messages/lost-records.ts';
import { linePacerId, lineRequestId, mailboxReaderId } from '#workflows/protocol/workflow-ids.ts';
import { abandonActions } from '#db/commands/messages/message-actions.ts';
import { releaseContactCard } from './contact-cards.ts';
import { removeLineFromWorkspace, reassignMessagesOf } from './line-reassignment.ts';
import { deleteSignals, moveSignals } from '#db/queries/lines/line-signals.ts';
import { findLine, LineRow } from '#db/queries/lines/lines.ts';
import { findLineNumber, moveLineNumber } from '#db/queries/lines/line-numbers.ts';
import { moveLookup, removeLookup } from '#db/queries/accounts/lookups.ts';
import type { Pools } from '#db/connection/pools.ts';
import { endHold, openPause, recordHold } from '#db/queries/sending/line-holds.ts';
import { ROWS_INSERTED } from '#db/connection/recordset.ts';
import { NoRows, WorkspaceIdRow } from '#db/connection/rows.ts';
import { type SystemDb, type TenantDb, waitLonger, withTenant } from '#db/connection/transactions.ts';
import { knownWakes, wake } from '#db/wakes/wakes.ts';

/** How long to wait for calls to the carrier to end. */
const SETTLE_MS = 10_000;
const POLL_MS = 50;
/** Longer than any change of a line takes. A crash delays the line by at most this long. */
const CHANGE_SECONDS = 20;

/** Until when a line whose recent sends have no records sends nothing (`recordLostTime`); null: they have. */
const UNTIL_AFTER_LOSS = sql.fragment`lost_until + make_interval(secs => ${ON_ITS_WAY_MS / 1000})`;

/** How far back the caps of the new workspace may count: a local day has up to 25 hours. */
const USAGE_MEMORY = sql.fragment`interval '26 hours'`;
/** The longest time over which carriers retry an event. */
const EVENT_MEMORY = sql.fragment`interval '7 days'`;

/**
 * Prevents a line from starting further sends, and waits until its calls to the carrier have ended, without an open
 * transaction. Ends with `endLineChange`, or after `CHANGE_SECONDS`.
 * @returns false if calls are still in progress.
 */
export async function beginLineChange(pools: Pools, workspaceId: string, lineId: string): Promise<boolean> {
  await withTenant(pools, workspaceId, async (db) => {
    await waitLonger(db);
    await db.query(sql.type(NoRows)`
      update lines set held_until = greatest(now() + make_interval(secs => ${CHANGE_SECONDS}), ${UNTIL_AFTER_LOSS})
      where workspace_id = ${workspaceId} and id = ${lineId}`);
  });
  const end = Date.now() + SETTLE_MS;
  while (await withTenant(pools, workspaceId, (db) => isSending(db, lineId))) {
    if (Date.now() > end) return false;
    await pause(POLL_MS);
  }
  return true;
}

/** Ends the change of a line and wakes its pacer. Does nothing if the line has left the workspace. */
export async function endLineChange(pools: Pools, workspaceId: string, lineId: string): Promise<void> {
  await withTenant(pools, workspaceId, async (db) => {
    await waitLonger(db);
    const { rowCount } = await db.query(sql.type(NoRows)`
      update lines set held_until = case when ${UNTIL_AFTER_LOSS} > now() then ${UNTIL_AFTER_LOSS} end
      where workspace_id = ${workspaceId} and id = ${lineId}`);
    if (rowCount > 0) wake(db, linePacerId(lineId), currentTime(), 'lineChanged');
  });
}

/**
 * Locks a line that is being changed, to move, delete or connect it. It sends nothing until the transaction ends.
 * @returns the line; null if it does not exist; `'sending'` if its hold has expired and it is sending again.
 */
export async function lockChangingLine(db: TenantDb, lineId: string): Promise<LineRow | 'sending' | null> {
  const line = await db.maybeOne(sql.type(LineRow)`
    select * from lines where workspace_id = ${db.workspaceId} and id = ${lineId} for update`);
  return line && (await isSending(db, lineId)) ? 'sending' : line;
}

async function isSending(db: TenantDb, lineId: string): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select 1 from attempts where workspace_id = ${db.workspaceId} and line_id = ${lineId} and outcome is null`);
}

/**
 * Moves a line to another workspace. Requires `lockChangingLine`. Its recent usage and its known contacts are copied, so that
 * its caps hold across the move. Sent messages stay with the former workspace; unsent ones are assigned to other lines
 * there. Requires `lockAgency`, because it locks rows of two workspaces.
 *
 * The settings that the former workspace entered are not moved: its carrier settings with their secrets, and the position in its
 * inbox. Somebody who knows them could otherwise read and forge messages of the new workspace. Nor is the override of its
 * reputation, whose reason is for the former workspace alone.
 * @param keepsCarrier whether the line belongs to the operator's own account at the carrier, for which workspaces know no
 *   secrets. Otherwise the line is not connected until the new workspace connects it.
 */
export async function moveLine(
  db: SystemDb,
  { line, from, to, keepsCarrier }: { line: LineRow; from: TenantDb; to: TenantDb; keepsCarrier: boolean },
): Promise<void> {
  const [a, b, lineId] = [from.workspaceId, to.workspaceId, line.id];
  const pause = await openPause(from, lineId);
  await abandonActions(from, line);
  await releaseContactCard(from, lineId, currentTime());
  await endHold(from, lineId, currentTime());
  const there = {
    workspace_id: b,
    carrier_config: {},
    // Its file is an upload of the former workspace.
    contact_card: null,
    held_until: null,
    send_now: [],
    reputation_override_until: null,
    reputation_override_reason: null,
    updated_at: currentTime().toISOString(),
    ...(!keepsCarrier && DISCONNECTED),
  };
  await db.query(sql.type(NoRows)`
    insert into lines select moved.* from lines l,
      jsonb_populate_record(l, ${sql.jsonb(there)}) moved
    where l.workspace_id = ${a} and l.id = ${lineId}
    ${ROWS_INSERTED}`);
  await db.query(sql.type(NoRows)`delete from lines where workspace_id = ${a} and id = ${lineId}`);
  await moveLookup(db, 'line', lineId, b);
  // A line that is paused stays paused, and still says who paused it.
  if (pause) await recordHold(to, { ...line, recordedHold: null }, 'line_paused', currentTime(), pause);
  // The new workspace may have some of them from an earlier stay of the line.
  await db.query(sql.type(NoRows)`
    insert into line_contacts as c (workspace_id, line_id, address, since, opened_on)
    select ${b}, line_id, address, since, opened_on from line_contacts where workspace_id = ${a} and line_id = ${lineId}
    on conflict (workspace_id, line_id, address) do update set since = least(c.since, excluded.since)`);
  await db.query(sql.type(NoRows)`
    delete from line_contacts where workspace_id = ${a} and line_id = ${lineId}`);
  await moveSignals(db, lineId, a, b);
  await db.query(sql.type(NoRows)`
    delete from line_inboxes where workspace_id = ${a} and line_id = ${lineId}`);
  await db.query(sql.type(NoRows)`
    insert into line_invoices
    select moved.* from line_invoices i, jsonb_populate_record(i, ${sql.jsonb({ workspace_id: b })}) moved
    where i.workspace_id = ${a} and i.line_id = ${lineId}
    ${ROWS_INSERTED}`);
  await db.query(sql.type(NoRows)`
    delete from line_invoices where workspace_id = ${a} and line_id = ${lineId}`);
  await moveLineNumber(db, lineId, a, b);
  // Copies keep their ids, so that no copy counts twice when the line comes back. They have no carrier message id,
  // because reports about the message concern the workspace that sent it, and name no contact: they are only counted, and an
  // erasure finds attempts by the messages of its workspace.
  await db.query(sql.type(NoRows)`
    insert into attempts (workspace_id, id, message_id, line_id, kind, channel, carrier, address, is_new, started_at,
      answer_by, outcome, reason, finished_at)
    select ${b}, id, message_id, line_id, kind, channel, carrier, 'erased:' || message_id, is_new, started_at,
      answer_by, outcome, reason_code(reason), finished_at
    from attempts
    where workspace_id = ${a} and line_id = ${lineId} and kind = 'primary' and started_at > now() - ${USAGE_MEMORY}
    on conflict do nothing`);
  await db.query(sql.type(NoRows)`
    insert into availability_checks (workspace_id, line_id, id, checked_at)
    select ${b}, line_id, id, checked_at from availability_checks
    where workspace_id = ${a} and line_id = ${lineId} and checked_at > now() - ${USAGE_MEMORY}
    on conflict do nothing`);
  await db.query(sql.type(NoRows)`
    insert into carrier_events (workspace_id, line_id, event_id, received_at, received_on)
    select ${b}, line_id, event_id, received_at, received_on from carrier_events
    where workspace_id = ${a} and line_id = ${lineId} and received_at > now() - ${EVENT_MEMORY}
    on conflict do nothing`);
  await db.query(sql.type(NoRows)`
    insert into line_moves (line_id, id, from_workspace_id, to_workspace_id) values (${lineId}, ${newId()}, ${a}, ${b})`);
  await removeLineFromWorkspace(from, lineId);
  await reassignMessagesOf(to, null);
  // Its workflows look again, in the new workspace. The pacer sleeps until a time computed from the former workspace's queue.
  for (const workflowId of await knownWakes(from, workflowsOf(lineId))) {
    from.wakes.leave(a, workflowId);
    wake(to, workflowId, currentTime(), 'lineChanged');
  }
  wake(to, linePacerId(lineId), currentTime(), 'lineChanged');
}

const DISCONNECTED = {
  carrier: NO_CARRIER,
  health_status: 'unknown',
  failed_probes: 0,
  health_checked_at: null,
  // What the server or the mailbox of the former workspace said.
  health_reason: null,
  blocked_at: null,
  inbox_failing_since: null,
  inbox_failure: null,
  inbox_notified_at: null,
};

const workflowsOf = (lineId: string): string[] => [
  linePacerId(lineId),
  lineRequestId(lineId),
  mailboxReaderId(lineId),
];

/** Deletes a line and assigns its unsent messages to other lines. Requires `lockChangingLine`. */
export async function deleteLine(db: TenantDb, lineId: string): Promise<void> {
  const line = await findLine(db, lineId);
  if (line) await abandonActions(db, line);
  await releaseContactCard(db, lineId, currentTime());
  await endHold(db, lineId, currentTime());
  await db.query(
    sql.type(NoRows)`delete from lines where workspace_id = ${db.workspaceId} and id = ${lineId}`,
  );
  await db.query(sql.type(NoRows)`
    delete from line_inboxes where workspace_id = ${db.workspaceId} and line_id = ${lineId}`);
  await removeLookup(db, 'line', lineId);
  await deleteSignals(db, lineId);
  await removeLineFromWorkspace(db, lineId);
  // They find that the line was deleted, and end.
  for (const workflowId of await knownWakes(db, workflowsOf(lineId)))
    wake(db, workflowId, currentTime(), 'lineChanged');
  // Its number is released.
  if (await findLineNumber(db, lineId)) wake(db, lineRequestId(lineId), currentTime(), 'stepDue');
}

/** The workspace to which a line last moved, also if it was deleted there; null: it never moved. */
export async function lastMovedTo(db: SystemDb, lineId: string): Promise<string | null> {
  return db.maybeOneFirst(sql.type(WorkspaceIdRow)`
    select to_workspace_id workspace_id from line_moves where line_id = ${lineId} order by moved_at desc, id desc limit 1`);
}

/**
 * The former workspace of a line that a carrier's report concerns: the one that sent or received the message.
 * @returns null if no former workspace did, or the line never moved.
 */
export async function formerOwner(
  db: SystemDb,
  lineId: string,
  carrierMessageId: string,
): Promise<string | null> {
  return db.maybeOneFirst(sql.type(WorkspaceIdRow)`
    with former as (select distinct from_workspace_id id from line_moves where line_id = ${lineId})
    select a.workspace_id from former join attempts a
      on a.workspace_id = former.id and a.line_id = ${lineId} and a.carrier_message_id = ${carrierMessageId}
    union all
    select i.workspace_id from former join inbound_messages i
      on i.workspace_id = former.id and i.line_id = ${lineId} and i.carrier_message_id = ${carrierMessageId}
    limit 1`);
}
