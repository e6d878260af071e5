import { sql } from 'slonik';
import { z } from 'zod';
import type { SignalName } from '#workflows/protocol/signals.ts';
import { linePacerId, lineOf } from '#workflows/protocol/workflow-ids.ts';
import { NoRows } from '../connection/rows.ts';
import { NEVER } from '../connection/timestamp.ts';
import type { Seen } from './transaction-wakes.ts';
import type { SystemDb, TenantDb } from '../connection/transactions.ts';

/**
 * Wakes a workflow: it looks at its tables at `at` or earlier. The wake is written at the end of this transaction. After
 * the commit the workflow is signaled: always if the signal is a fact; if it is work that is due, only if the workflow
 * would look too late.
 */
export function wake(db: TenantDb, workflowId: string, at: Date, signal: SignalName): void {
  db.wakes.request(db.workspaceId, workflowId, at, signal);
}

/** Like `wake`, for a change that the workflow itself makes: its next round follows anyway, so it gets no signal. */
export function wakeSelf(db: TenantDb, workflowId: string, at: Date): void {
  db.wakes.request(db.workspaceId, workflowId, at);
}

/**
 * Wakes the pacer of a line for a message that the line is to send at `scheduledAt`, or when the hold ends that the pacer has
 * decided on. Not for what is sent although the line holds its messages.
 * @param message.isNew it is in a lane of new contacts; absent: of known contacts.
 */
export function wakeForMessage(
  db: TenantDb,
  lineId: string,
  { scheduledAt, isNew = false }: { scheduledAt: Date; isNew?: boolean },
): void {
  db.wakes.requestForMessage(db.workspaceId, linePacerId(lineId), scheduledAt, isNew);
}

/** Wakes the pacers of these lines when the messages are due. */
export function wakeLines(
  db: TenantDb,
  due: readonly { lineId: string | null; scheduledAt: Date; isNew?: boolean }[],
): void {
  for (const { lineId, ...message } of due) {
    if (lineId !== null) wakeForMessage(db, lineId, message);
  }
}

const SeenRow = z.object({ requestedBy: z.string(), wakeAt: z.date() });

/** To be read before a workflow looks at anything else. Takes no lock. */
export async function seenWake(db: TenantDb, workflowId: string): Promise<Seen> {
  const row = await db.maybeOne(sql.type(SeenRow)`
    select requested_by::text requested_by, wake_at from workflow_wakes
    where workspace_id = ${db.workspaceId} and workflow_id = ${workflowId}`);
  if (!row) return { requestedBy: '0', wakeAt: null };
  const { requestedBy, wakeAt } = row;
  return { requestedBy, wakeAt: new Date(Math.min(wakeAt.getTime() + (db.aheadMs ?? 0), NEVER.getTime())) };
}

/** A running workflow, and the wakes that it knew when it last looked. */
export interface LastLook {
  workspaceId: string;
  workflowId: string;
  requestedBy: string;
}

/** The given workflows that were woken since, by id. */
export async function requestedSince(db: SystemDb, looks: readonly LastLook[]): Promise<ReadonlySet<string>> {
  const requested = await db.anyFirst(sql.type(WorkflowIdRow)`
    select look.workflow_id
    from ${sql.unnest(
      looks.map(({ workspaceId, workflowId, requestedBy }) => [workspaceId, workflowId, requestedBy]),
      ['text', 'text', 'xid8'],
    )} as look (workspace_id, workflow_id, requested_by)
    left join workflow_wakes w on w.workspace_id = look.workspace_id and w.workflow_id = look.workflow_id
    where w.requested_by is distinct from look.requested_by`);
  return new Set(requested);
}

const WorkflowIdRow = z.object({ workflowId: z.string() });

/** Those of the workflows that have a row. */
export async function knownWakes(db: TenantDb, workflowIds: readonly string[]): Promise<string[]> {
  const known = await db.anyFirst(sql.type(WorkflowIdRow)`
    select workflow_id from workflow_wakes
    where workspace_id = ${db.workspaceId} and workflow_id = any(${sql.array([...workflowIds], 'text')})`);
  return [...known];
}

/**
 * The age of an overdue workflow at a signal, times this, is the pause before the next: it may just be queued behind others, and
 * then each signal makes their queue longer.
 */
const PAUSE_FACTOR = 3;
const LONGEST_PAUSE = sql.fragment`interval '15 minutes'`;

/**
 * Makes every workflow overdue if the namespace of Temporal is a new one, where none has run: also those that wait for somebody, which
 * the sweep would start after a month only.
 * @returns whether it is.
 */
export async function startAllInNewNamespace(db: SystemDb, namespaceId: string): Promise<boolean> {
  const known = await db.anyFirst(sql.type(NamespaceRow)`select id from temporal_namespaces`);
  if (known.includes(namespaceId)) return false;
  if (known.length > 0)
    await db.query(sql.type(NoRows)`
      update workflow_wakes set sweep_at = now() where sweep_at > now() and sweep_at < 'infinity'`);
  await db.query(sql.type(NoRows)`
    insert into temporal_namespaces (id) values (${namespaceId}) on conflict do nothing`);
  return known.length > 0;
}

const NamespaceRow = z.object({ id: z.string() });

const OverdueRow = z.object({
  workspaceId: z.string(),
  workflowId: z.string(),
  signal: z.string().nullable(),
});

/**
 * Claims overdue workflows, whose signal a crash prevented after a commit. Each moves to the end of the queue, so that
 * workflows that cannot be woken do not delay others. A wake that a workspace wrote for a line after it had moved to another
 * one is deleted: its workflows look in the workspace where the line is.
 * @returns `signal`: the last one that it should have received; null: its own timer was due.
 */
export async function claimOverdue(
  db: SystemDb,
  limit: number,
): Promise<{ workspaceId: string; workflowId: string; signal: string | null }[]> {
  const rows = await db.any(sql.type(OverdueRow)`
    select workspace_id, workflow_id, signal from claim_overdue(${limit}, ${PAUSE_FACTOR}, ${LONGEST_PAUSE})`);
  const departed = await deleteDeparted(db, rows);
  return rows.filter((row) => !departed.has(row.workflowId));
}

/** A workflow that waits only for a worker runs within a minute, unless all are busy. */
const LATE = sql.fragment`interval '1 minute'`;

const WakeRow = z.object({ workspaceId: z.string(), workflowId: z.string() });
type WakeRow = z.infer<typeof WakeRow>;

/** Those of the overdue workflows that should have run a minute ago. */
export async function lateAmong(db: SystemDb, overdue: readonly WakeRow[]): Promise<readonly WakeRow[]> {
  if (overdue.length === 0) return [];
  return db.any(sql.type(WakeRow)`
    select w.workspace_id, w.workflow_id
    from ${sql.unnest(
      overdue.map(({ workspaceId, workflowId }) => [workspaceId, workflowId]),
      ['text', 'text'],
    )} as o (workspace_id, workflow_id)
    join workflow_wakes w on w.workspace_id = o.workspace_id and w.workflow_id = o.workflow_id
    where w.wake_at < now() - ${LATE}
      and w.workspace_id = any(${sql.array([...new Set(overdue.map(({ workspaceId }) => workspaceId))], 'text')})`);
}

/** Workflows that should have run some seconds ago, longest overdue first. Claims nothing. */
export async function overdueFor(db: SystemDb, seconds: number, limit: number): Promise<readonly WakeRow[]> {
  return db.any(sql.type(WakeRow)`
    select workspace_id, workflow_id from workflow_wakes
    where wake_at < now() - make_interval(secs => ${seconds}) order by sweep_at limit ${limit}`);
}

/** The pacers whose rounds are at work, or were until a minute ago: they refresh the time of their next look (`decide`). */
export async function pacersAtWork(db: SystemDb): Promise<readonly string[]> {
  return db.anyFirst(sql.type(WorkflowIdRow)`
    select workflow_id from workflow_wakes
    where sweep_at between now() - interval '2 minutes' and now() + interval '5 minutes'
      and wake_at between now() - interval '2 minutes' and now() and starts_with(workflow_id, ${linePacerId('')})
    order by wake_at desc`);
}

/** The workspaces of these workflows, as far as they have a row. */
export async function wakesOf(db: SystemDb, workflowIds: readonly string[]): Promise<readonly WakeRow[]> {
  if (workflowIds.length === 0) return [];
  return db.any(sql.type(WakeRow)`
    select workspace_id, workflow_id from workflow_wakes
    where workflow_id = any(${sql.array([...workflowIds], 'text')})`);
}

/** @returns the workflow ids of those that were deleted. */
async function deleteDeparted(
  db: SystemDb,
  wakes: readonly { workspaceId: string; workflowId: string }[],
): Promise<ReadonlySet<string>> {
  const ofLines = wakes.flatMap(({ workspaceId, workflowId }) => {
    const lineId = lineOf(workflowId);
    return lineId === null ? [] : [[workspaceId, workflowId, lineId]];
  });
  if (ofLines.length === 0) return new Set();
  const deleted = await db.anyFirst(sql.type(WorkflowIdRow)`
    delete from workflow_wakes w
    using ${sql.unnest(ofLines, ['text', 'text', 'text'])} as o (workspace_id, workflow_id, line_id)
    join lookups l on l.kind = 'line' and l.key = o.line_id and l.workspace_id <> o.workspace_id
    where w.workspace_id = o.workspace_id and w.workflow_id = o.workflow_id
      and w.workspace_id = any(${sql.array([...new Set(wakes.map(({ workspaceId }) => workspaceId))], 'text')})
    returning w.workflow_id`);
  return new Set(deleted);
}
