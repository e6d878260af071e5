import { type CommonQueryMethods, sql } from 'slonik';
import { z } from 'zod';
import { NO_CARRIER } from '#domain/lines/line.ts';
import type { SignalName } from '#workflows/protocol/signals.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { NoRows } from '../connection/rows.ts';
import { formatTimestamp } from '../connection/timestamp.ts';

/** A request that a workflow looks at its tables at a time, or the decision of the workflow itself. Times are real. */
export interface Wake {
  workflowId: string;
  at: Date;
  /** For a decision: the last request that its look has seen. */
  seen: string | null;
  /** The last signal of the request. */
  signal: SignalName | null;
  /** For a decision: until when no message is sent. For a request by messages alone: when the first one to a known contact is due. */
  notBefore: Date | null;
  /** The same for messages to new contacts. */
  newNotBefore: Date | null;
}

const StoredRow = z.object({
  workflowId: z.string(),
  wakeAt: z.date(),
  /** Whether this transaction made the next look earlier. */
  lowered: z.boolean(),
  /** So that a pacer need not look it up when it starts. */
  carrier: z.string().nullable(),
});
type StoredWake = z.infer<typeof StoredRow>;

/** Longer than a healthy workflow takes to look at due work. The database's function `after_grace` adds the same. */
export const GRACE = sql.fragment`interval '30 seconds'`;

const timestamp = (at: Date | null): string | null => at && formatTimestamp(at);

/**
 * Writes wakes of a workspace in one statement.
 *
 * A wake always stores its transaction's id, even if the workflow looks early enough. A workflow that writes its
 * decision finds the id of a transaction that its look did not see, and then only lowers the time.
 *
 * A message that its line holds brings the next look forward to the end of the hold only, which is mostly not before it,
 * so nobody is signaled. A request for messages has their due times in `held_until` and `held_new_until`. No wake is lost:
 * - A hold is stored by a decision that saw all requests (`replaces`), hence all changes of the line that they report.
 * - It counts until the next request that is not for messages (`held_for`). Whatever ends a hold before its time makes one.
 * - So a message finds a hold only if nothing has ended it since. If something does later, its request comes after the
 *   message's, and the row's lock puts their commits in that order: the look that follows sees both.
 * - A look that did not see a message finds its id in `requested_by` and puts nothing off, nor stores a hold.
 *
 * @returns the rows that were written.
 */
export async function writeWakes(
  db: CommonQueryMethods,
  workspaceId: string,
  wakes: readonly Wake[],
): Promise<readonly StoredWake[]> {
  const rows = wakes.map(({ workflowId, at, seen, signal, notBefore, newNotBefore }) => [
    workflowId,
    timestamp(at),
    seen,
    signal,
    timestamp(notBefore),
    timestamp(newNotBefore),
  ]);
  const decides = sql.fragment`excluded.lowered_by = '0'`;
  const replaces = sql.fragment`(${decides} and w.requested_by = excluded.requested_by)`;
  const isHeld = sql.fragment`
    (not ${decides} and excluded.held_until is not null and w.held_for = w.requested_by)`;
  const at = sql.fragment`case when ${isHeld} then least(
    greatest(excluded.held_until, w.held_until),
    greatest(excluded.held_new_until, w.held_until, w.held_new_until)) else excluded.wake_at end`;
  const lowers = sql.fragment`${at} < w.wake_at`;
  // The insert is within a with clause, because a distributed database resolves the parameters of a conflict only there.
  return db.any(sql.type(StoredRow)`
    with written as (
      insert into workflow_wakes as w (workspace_id, workflow_id, wake_at, sweep_at, requested_by, lowered_by, signal,
        held_until, held_new_until, held_for)
      select ${workspaceId}, r.workflow_id, r.at, r.at + ${GRACE},
        coalesce(r.seen, pg_current_xact_id()), case when r.seen is null then pg_current_xact_id() else '0' end, r.signal,
        r.held_until, r.held_new_until, coalesce(r.seen, '0')
      from ${sql.unnest(rows, ['text', 'timestamptz', 'xid8', 'text', 'timestamptz', 'timestamptz'])}
        as r (workflow_id, at, seen, signal, held_until, held_new_until)
      order by r.workflow_id
      on conflict (workspace_id, workflow_id) do update set
        wake_at = case when ${replaces} or ${lowers} then ${at} else w.wake_at end,
        sweep_at = case when ${isHeld} and ${lowers} then after_grace(${at})
          when ${replaces} or ${lowers} then excluded.sweep_at else w.sweep_at end,
        lowered_by = case when ${lowers} and not ${decides} then excluded.lowered_by else w.lowered_by end,
        signal = case when ${replaces} then null else coalesce(excluded.signal, w.signal) end,
        requested_by = case when ${decides} then w.requested_by else excluded.requested_by end,
        held_until = case when ${replaces} then excluded.held_until else w.held_until end,
        held_new_until = case when ${replaces} then excluded.held_new_until else w.held_new_until end,
        held_for = case when ${replaces} or ${isHeld} then excluded.requested_by else w.held_for end
      returning w.workflow_id, w.wake_at, w.lowered_by = w.requested_by lowered
    )
    select workflow_id, wake_at, lowered, case
      when lowered and starts_with(workflow_id, ${linePacerId('')}) then (
        select nullif(l.carrier, ${NO_CARRIER}) from lines l
        where l.workspace_id = ${workspaceId} and l.id = split_part(written.workflow_id, ':', 2)
      ) end carrier
    from written`);
}

export async function deleteWakes(
  db: CommonQueryMethods,
  workspaceId: string,
  workflowIds: readonly string[],
): Promise<void> {
  if (workflowIds.length === 0) return;
  await db.query(sql.type(NoRows)`
    delete from workflow_wakes
    where workspace_id = ${workspaceId} and workflow_id = any(${sql.array([...workflowIds], 'text')})`);
}
