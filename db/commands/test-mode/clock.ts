import { sql } from 'slonik';
import { z } from 'zod';
import { currentTime, realTime } from '#domain/base/clock.ts';
import { linePacerId, polledKind, testClockId } from '#workflows/protocol/workflow-ids.ts';
import { endSnoozes } from '#db/commands/inbox/conversation-changes.ts';
import { judgeDueLines } from '#db/commands/lines/line-reputation.ts';
import type { MailSeal } from '#db/commands/events/mails.ts';
import { ageDripClaims } from '#db/queries/messages/drip.ts';
import { ageIdempotencyKeys } from '#db/queries/accounts/idempotency.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';

const ClockRow = z.object({
  targetAt: z.date().nullable(),
  problem: z.string().nullable(),
});
/** The clock of a workspace in test mode. */
export type TestClock = z.infer<typeof ClockRow> & { now: Date };

/** @throws if the workspace is not a twin. */
export async function readTestClock(db: TenantDb): Promise<TestClock> {
  const row = await db.one(sql.type(ClockRow)`
    select target_at, problem from test_clocks where workspace_id = ${db.workspaceId}`);
  return { ...row, now: currentTime() };
}

/**
 * Lets the clock move to a time, in the time of the workspace. Idempotency keys and claims of drips, which are stored in
 * real time, grow as old as they are when it arrives.
 * @returns false if it is moving already.
 */
export async function startTestClock(db: TenantDb, target: Date): Promise<boolean> {
  // The transaction that holds a key or a claim can still write its wakes: see `lockTestClock`.
  const { rowCount } = await db.query(sql.type(NoRows)`
    update test_clocks set target_at = ${sql.timestamp(target)}, problem = null, moved_at = now()
    where workspace_id = ${db.workspaceId} and target_at is null`);
  if (rowCount === 0) return false;
  const ms = target.getTime() - currentTime().getTime();
  await ageIdempotencyKeys(db, ms);
  await ageDripClaims(db, ms);
  wake(db, testClockId(db.workspaceId), currentTime(), 'requested');
  return true;
}

/** Stops the clock where it is. */
export async function stopTestClock(db: TenantDb, problem: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update test_clocks set target_at = null, problem = ${problem} where workspace_id = ${db.workspaceId}`);
}

export type ClockStep =
  /** These workflows must finish their due work before the clock advances. */
  | { kind: 'busy'; workflowIds: readonly string[]; sinceMs: number }
  | { kind: 'moved'; lineIds: readonly string[]; isAtTarget: boolean }
  | { kind: 'arrived' };

const MovingRow = z.object({ targetAt: z.date().nullable(), movedAt: z.date() });
const WorkflowRow = z.object({ workflowId: z.string() });
const NextRow = z.object({ at: z.date().nullable() });

/**
 * Moves the clock to the next time at which a workflow of the workspace looks at its tables, or to the target, once all of
 * them are idle. Their rows have the real time at which they look, so the further the clock is ahead, the earlier that is.
 * The clock arrives one step after it has reached the target, so that it also waits for what the caller does there. Wakes
 * those that are due but for pacers, and when it arrives all of them, because their timers are set for a later time. Worker processes see
 * themselves which of their rounds are due.
 * @param wakeAfterMs how long after the last step those are woken that are still due.
 */
export async function stepTestClock(db: TenantDb, wakeAfterMs: number): Promise<ClockStep> {
  const { targetAt, movedAt } = await db.one(sql.type(MovingRow)`
    select target_at, moved_at from test_clocks where workspace_id = ${db.workspaceId} for update`);
  if (targetAt === null) return { kind: 'arrived' };
  const others = sql.fragment`workspace_id = ${db.workspaceId} and workflow_id <> ${testClockId(db.workspaceId)}`;
  const now = realTime();
  const signal = (workflowId: string): void => {
    if (polledKind(workflowId) === null) db.wakes.signal(workflowId, db.workspaceId, 'overdue');
  };
  const busy = await db.anyFirst(sql.type(WorkflowRow)`
    select workflow_id from workflow_wakes where ${others} and wake_at <= ${sql.timestamp(now)} order by wake_at`);
  if (busy.length > 0) {
    const sinceMs = now.getTime() - movedAt.getTime();
    if (sinceMs >= wakeAfterMs) for (const workflowId of busy) signal(workflowId);
    return { kind: 'busy', workflowIds: busy, sinceMs };
  }

  const next = await db.oneFirst(sql.type(NextRow)`
    select min(wake_at) "at" from workflow_wakes where ${others} and wake_at < 'infinity'`);
  const left = Math.max(0, targetAt.getTime() - currentTime().getTime());
  const toNext = next ? Math.ceil(next.getTime() - now.getTime()) : Number.POSITIVE_INFINITY;
  const isAtTarget = toNext > left;
  const arrives = isAtTarget && left === 0;
  const by = isAtTarget ? left : toNext;
  await db.query(sql.type(NoRows)`
    update test_clocks set ahead_ms = ahead_ms + ${by}, moved_at = now(), target_at = case when ${arrives} then null else target_at end
    where workspace_id = ${db.workspaceId}`);
  // `infinity` stays as it is.
  const earlier = (column: string) => sql.fragment`
    ${sql.identifier([column])} = earlier(${sql.identifier([column])}, ${by})`;
  const moved = await db.any(sql.type(MovedRow)`
    update workflow_wakes set ${sql.join(
      ['wake_at', 'sweep_at', 'held_until', 'held_new_until'].map(earlier),
      sql.fragment`, `,
    )}
    where ${others} and (wake_at < 'infinity' or held_until is not null or held_new_until is not null)
    returning workflow_id, wake_at <= ${sql.timestamp(now)} due`);
  const isPacer = (workflowId: string): boolean => workflowId.startsWith(linePacerId(''));
  for (const { workflowId, due } of moved) if (arrives || (due && !isPacer(workflowId))) signal(workflowId);
  if (arrives) return { kind: 'arrived' };
  const due = moved.filter(({ workflowId, due }) => due && isPacer(workflowId));
  const lineIds = due.map(({ workflowId }) => workflowId.slice(linePacerId('').length));
  return { kind: 'moved', lineIds, isAtTarget };
}

/** The part of housekeeping that is due by the clock of the workspace. */
export async function runDueHousekeeping(db: TenantDb, seal: Pick<MailSeal, 'seal'>): Promise<void> {
  const now = currentTime();
  await judgeDueLines(db, seal, now);
  await endSnoozes(db, null, now);
}

const MovedRow = z.object({ workflowId: z.string(), due: z.boolean() });
