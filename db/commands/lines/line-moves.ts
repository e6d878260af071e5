import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'slonik';
import { z } from 'zod';
import { newId } from '#domain/ids.ts';
import { linePacerId } from '#workflows/messages/wake.ts';
import { rehomeMessages } from './line-rehoming.ts';
import { findLine, type LineRow } from '#db/queries/lines.ts';
import { Nothing, type SystemDb, type TenantDb } from '#db/pool.ts';
import { lockWake, requestWake } from '#db/wakes.ts';

/** A workflow to wake once the move is committed. */
export interface Wake {
  workflowId: string;
  workspaceId: string;
}

/** Calls to a carrier are over within seconds; a line that is still sending after this is tried again by the caller. */
const SETTLE_MS = 10_000;
const POLL_MS = 50;

/** What the new workspace's caps may have to look back on: its day is 25 hours at most. */
const USAGE_MEMORY = sql.fragment`interval '26 hours'`;
/** For how long carriers repeat an event at the most. */
const EVENT_MEMORY = sql.fragment`interval '7 days'`;

/**
 * Takes a line out of its workspace's hands: its pacer decides nothing until this transaction ends, and nothing of
 * it is under way at the carrier.
 * @returns the line; `null` when it is gone; `'sending'` when it does not come to rest.
 */
export async function holdLine(db: TenantDb, lineId: string): Promise<LineRow | 'sending' | null> {
  // The line before its wake row, as whoever accepts a message for it does (`keepLines`).
  if (!(await lockLine(db, lineId))) return null;
  await lockWake(db, linePacerId(lineId));
  const line = await findLine(db, lineId);
  if (!line) return null;
  const end = Date.now() + SETTLE_MS;
  // What is settled meanwhile is seen: each statement reads what is committed by then.
  while (await isSending(db, lineId)) {
    if (Date.now() > end) return 'sending';
    await pause(POLL_MS);
  }
  return line;
}

async function lockLine(db: TenantDb, lineId: string): Promise<boolean> {
  return db.exists(sql.type(Nothing)`
    select 1 from lines where workspace_id = ${db.workspaceId} and id = ${lineId} for update`);
}

async function isSending(db: TenantDb, lineId: string): Promise<boolean> {
  return db.exists(sql.type(Nothing)`
    select 1 from attempts where workspace_id = ${db.workspaceId} and line_id = ${lineId} and outcome is null`);
}

/**
 * Moves a line that is held to another workspace. What it may still send today, and whom it knows, moves along, so
 * that its caps hold on both sides of the move. What was sent stays with the workspace that sent it; what was not
 * goes to another line there.
 * @param carrierConfig the line's settings, with their secrets sealed for the new workspace.
 */
export async function moveLine(
  db: SystemDb,
  {
    line,
    from,
    to,
    carrierConfig,
  }: { line: LineRow; from: TenantDb; to: TenantDb; carrierConfig: Record<string, unknown> },
): Promise<Wake[]> {
  const [a, b, lineId] = [from.workspaceId, to.workspaceId, line.id];
  await db.query(sql.type(Nothing)`
    update lines set workspace_id = ${b}, carrier_config = ${sql.jsonb(carrierConfig as never)}, updated_at = now()
    where workspace_id = ${a} and id = ${lineId}`);
  await db.query(sql.type(Nothing)`
    update workflow_wakes set workspace_id = ${b} where workspace_id = ${a} and split_part(workflow_id, ':', 2) = ${lineId}`);
  await db.query(sql.type(Nothing)`
    update line_contacts set workspace_id = ${b} where workspace_id = ${a} and line_id = ${lineId}`);
  await db.query(sql.type(Nothing)`
    update line_inboxes set workspace_id = ${b} where workspace_id = ${a} and line_id = ${lineId}`);
  await db.query(sql.type(Nothing)`
    update line_invoices set workspace_id = ${b} where workspace_id = ${a} and line_id = ${lineId}`);
  // Copies under the same ids: a line that comes back finds its own, and none counts twice. Without the carrier's
  // id of the message, since what is reported of it concerns the workspace that sent it.
  await db.query(sql.type(Nothing)`
    insert into attempts (workspace_id, id, message_id, line_id, kind, channel, carrier, address, is_new, started_at,
      answer_by, outcome, reason, finished_at)
    select ${b}, id, message_id, line_id, kind, channel, carrier, address, is_new, started_at,
      answer_by, outcome, reason, finished_at
    from attempts
    where workspace_id = ${a} and line_id = ${lineId} and kind = 'primary' and started_at > now() - ${USAGE_MEMORY}
    on conflict do nothing`);
  await db.query(sql.type(Nothing)`
    insert into carrier_events (workspace_id, line_id, event_id, received_at)
    select ${b}, line_id, event_id, received_at from carrier_events
    where workspace_id = ${a} and line_id = ${lineId} and received_at > now() - ${EVENT_MEMORY}
    on conflict do nothing`);
  await db.query(sql.type(Nothing)`
    insert into line_moves (line_id, id, from_workspace_id, to_workspace_id) values (${lineId}, ${newId()}, ${a}, ${b})`);
  const left = await leaveBehind(from, lineId);
  const adopted = await rehomeMessages(to, null);
  // Its pacer sleeps by the caps and the queue of the other workspace.
  await requestWake(to, linePacerId(lineId), new Date());
  return [
    ...left,
    ...[...new Set([...adopted, linePacerId(lineId)])].map((workflowId) => ({ workflowId, workspaceId: b })),
  ];
}

/** Deletes a line that is held; its unsent messages go to other lines of the workspace. */
export async function deleteLine(db: TenantDb, lineId: string): Promise<Wake[]> {
  await db.query(
    sql.type(Nothing)`delete from lines where workspace_id = ${db.workspaceId} and id = ${lineId}`,
  );
  await db.query(
    sql.type(
      Nothing,
    )`delete from line_contacts where workspace_id = ${db.workspaceId} and line_id = ${lineId}`,
  );
  await db.query(sql.type(Nothing)`
    delete from line_inboxes where workspace_id = ${db.workspaceId} and line_id = ${lineId}`);
  const wakes = await leaveBehind(db, lineId);
  await db.query(sql.type(Nothing)`
    delete from workflow_wakes where workspace_id = ${db.workspaceId} and split_part(workflow_id, ':', 2) = ${lineId}`);
  return wakes;
}

async function leaveBehind(db: TenantDb, lineId: string): Promise<Wake[]> {
  await db.query(sql.type(Nothing)`
    update conversations set line_id = null where workspace_id = ${db.workspaceId} and line_id = ${lineId}`);
  const wakes = await rehomeMessages(db, lineId);
  return wakes.map((workflowId) => ({ workflowId, workspaceId: db.workspaceId }));
}

/**
 * Whose a message is that a carrier reports something of: the workspace that sent or received it while it had the
 * line. Null when none of the former ones did, as with every line that never moved.
 */
export async function formerOwner(
  db: SystemDb,
  lineId: string,
  carrierMessageId: string,
): Promise<string | null> {
  return db.maybeOneFirst(sql.type(z.object({ workspaceId: z.string() }))`
    with former as (select distinct from_workspace_id id from line_moves where line_id = ${lineId})
    select a.workspace_id from former join attempts a
      on a.workspace_id = former.id and a.line_id = ${lineId} and a.carrier_message_id = ${carrierMessageId}
    union all
    select i.workspace_id from former join inbound_messages i
      on i.workspace_id = former.id and i.line_id = ${lineId} and i.carrier_message_id = ${carrierMessageId}
    limit 1`);
}
