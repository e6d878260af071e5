import { sql } from 'slonik';
import { z } from 'zod';
import type { SignalName } from '#workflows/messages/signals.ts';
import { NoRows } from './rows.ts';
import { GRACE, type Seen } from './transaction-wakes.ts';
import type { SystemDb, TenantDb } from './transactions.ts';

/**
 * Has a workflow look at its tables at `at`, or earlier. Written at the end of this transaction, with the signal's name;
 * once that is committed the workflow gets the signal: a fact always, work that is due only when the workflow does not
 * look in time by itself.
 */
export function wake(db: TenantDb, workflowId: string, at: Date, signal: SignalName): void {
  db.wakes.request(db.workspaceId, workflowId, at, signal);
}

/**
 * As `wake`, for a workflow that many transactions wake at once: none of them waits for another. While the row says that
 * the workflow looks by then anyway, nothing is written and no row is locked. Only for workflows that rest by
 * `decideToRest`, which finds what such a transaction adds.
 */
export function wakeUnlessDue(db: TenantDb, workflowId: string, at: Date, signal: SignalName): void {
  db.wakes.requestUnlessDue(db.workspaceId, workflowId, at, signal);
}

const SeenRow = z.object({ requestedBy: z.string(), wakeAt: z.date() });

/** Read before a workflow looks at anything else; without a lock. */
export async function seenWake(db: TenantDb, workflowId: string): Promise<Seen> {
  const row = await db.maybeOne(sql.type(SeenRow)`
    select requested_by::text requested_by, wake_at from workflow_wakes
    where workspace_id = ${db.workspaceId} and workflow_id = ${workflowId}`);
  return row ?? { requestedBy: '0', wakeAt: null };
}

/** A workflow rests as it decided: the sweep leaves it alone until then. */
export async function confirmRest(db: TenantDb, workflowId: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workflow_wakes set sweep_at = wake_at + ${GRACE}
    where workspace_id = ${db.workspaceId} and workflow_id = ${workflowId} and wake_at > now()`);
}

const WorkflowIdRow = z.object({ workflowId: z.string() });

/** Those of a line's workflows that have a row. */
export async function knownWakes(db: TenantDb, workflowIds: readonly string[]): Promise<string[]> {
  const known = await db.anyFirst(sql.type(WorkflowIdRow)`
    select workflow_id from workflow_wakes
    where workspace_id = ${db.workspaceId} and workflow_id = any(${sql.array([...workflowIds], 'text')})`);
  return [...known];
}

/** A workflow that is only queued is not signalled every minute: the time between its signals doubles up to this. */
const LONGEST_PAUSE = sql.fragment`interval '15 minutes'`;

const OverdueRow = z.object({
  workspaceId: z.string(),
  workflowId: z.string(),
  signal: z.string().nullable(),
});

/**
 * Claims workflows whose time has passed without their having looked: a crash came between a commit and its signal.
 * Each goes to the end of the queue, so that those which cannot be woken do not keep others waiting.
 * @returns `signal`: the last one that it was to get; null: its own time has come.
 */
export async function claimOverdue(
  db: SystemDb,
  limit: number,
): Promise<{ workspaceId: string; workflowId: string; signal: string | null }[]> {
  const rows = await db.any(sql.type(OverdueRow)`
    with overdue as materialized (
      select workflow_id from workflow_wakes where sweep_at < now() and sweep_at < 'infinity'
      order by sweep_at limit ${limit} for update skip locked
    )
    update workflow_wakes w set sweep_at = now() + case
        when wake_at < now() then least(now() - wake_at, ${LONGEST_PAUSE}) else ${LONGEST_PAUSE} end
    from overdue where w.workflow_id = overdue.workflow_id
    returning w.workspace_id, w.workflow_id, w.signal`);
  return [...rows];
}
