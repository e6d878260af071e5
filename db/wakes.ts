import { sql } from 'slonik';
import { z } from 'zod';
import { NEVER, Nothing, type SystemDb, type TenantDb } from './pool.ts';

/**
 * Says that a workflow has work due at a time. True when it would not look in time by itself and has to be
 * signalled once this transaction is committed. Call it last: the row stays locked until the commit, which is
 * also what keeps a workflow that is just deciding to sleep from missing the new work.
 */
export async function requestWake(db: TenantDb, workflowId: string, at: Date): Promise<boolean> {
  // The row of a line that has moved is the other workspace's: it is to be refused by its policy, which PostgreSQL asks
  // only after the condition has held.
  const lowered = await orMoved(
    db.maybeOne(sql.type(z.object({ workflowId: z.string() }))`
    insert into workflow_wakes (workspace_id, workflow_id, wake_at)
    values (${db.workspaceId}, ${workflowId}, ${timestamp(at)})
    on conflict (workflow_id) do update set wake_at = excluded.wake_at
      where workflow_wakes.wake_at > excluded.wake_at or workflow_wakes.workspace_id <> excluded.workspace_id
    returning workflow_id`),
  );
  return lowered !== null;
}

/** Locks a workflow's row: nobody adds work for it, and no other run of it decides, until this transaction ends. */
export async function lockWake(db: TenantDb, workflowId: string): Promise<void> {
  await orMoved(
    db.query(sql.type(Nothing)`
    insert into workflow_wakes (workspace_id, workflow_id, wake_at) values (${db.workspaceId}, ${workflowId}, 'infinity')
    on conflict (workflow_id) do update set wake_at = workflow_wakes.wake_at`),
  );
}

/**
 * A line that moved to another workspace a moment ago took its row along, which is out of sight from here. Said as a
 * serialization failure: the transaction is repeated, and finds the line gone.
 */
async function orMoved<T>(query: Promise<T>): Promise<T> {
  return query.catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
    throw Object.assign(new Error('the line has moved to another workspace', { cause: error }), {
      code: '40001',
    });
  });
}

const INSUFFICIENT_PRIVILEGE = '42501';

/** When the workflow will look again by itself; null: only when it is woken. */
export async function setWake(db: TenantDb, workflowId: string, at: Date | null): Promise<void> {
  await db.query(sql.type(Nothing)`
    update workflow_wakes set wake_at = ${timestamp(at ?? NEVER)}
    where workspace_id = ${db.workspaceId} and workflow_id = ${workflowId}`);
}

/** A workflow has ended for good: nothing is kept of it. Under its lock. */
export async function endWake(db: TenantDb, workflowId: string): Promise<void> {
  await db.query(sql.type(Nothing)`
    delete from workflow_wakes where workspace_id = ${db.workspaceId} and workflow_id = ${workflowId}`);
}

/** Workflows whose time has passed without their having looked: a crash came between a commit and its signal. */
export async function overdueWakes(
  db: SystemDb,
  graceSeconds: number,
): Promise<{ workspaceId: string; workflowId: string }[]> {
  const rows = await db.any(sql.type(z.object({ workspaceId: z.string(), workflowId: z.string() }))`
    select workspace_id, workflow_id from workflow_wakes
    where wake_at < now() - make_interval(secs => ${graceSeconds})
    order by wake_at limit 5000`);
  return [...rows];
}

const timestamp = (at: Date) =>
  at.getTime() >= NEVER.getTime()
    ? sql.fragment`'infinity'::timestamptz`
    : sql.fragment`${sql.timestamp(at)}`;
