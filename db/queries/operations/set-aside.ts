import { sql } from 'slonik';
import { z } from 'zod';
import { newId } from '#domain/base/ids.ts';
import { FAILURES_TO_SET_ASIDE, withoutPersons } from '#domain/base/set-aside.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { IS_SET_ASIDE } from '#db/queries/messages/messages.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

/** An activity of a workflow, which is retried. */
export interface FailingWork {
  workspaceId: string;
  workflowId: string;
  activity: string;
}

const Row = z.object({
  id: z.string(),
  workspaceId: z.string(),
  workflowId: z.string(),
  activity: z.string(),
  subject: z.record(z.string(), z.unknown()),
  reason: z.string(),
  failures: z.int(),
  firstFailedAt: z.date(),
  lastFailedAt: z.date(),
  setAsideAt: z.date().nullable(),
});
export type SetAsideRow = z.infer<typeof Row>;

const isOf = ({ workspaceId, workflowId, activity }: FailingWork) =>
  sql.fragment`workspace_id = ${workspaceId} and workflow_id = ${workflowId} and activity = ${activity}`;

/** @returns null: it has not failed lately. */
export async function findFailing(db: SystemDb, work: FailingWork): Promise<SetAsideRow | null> {
  return db.maybeOne(sql.type(Row)`select * from set_aside where ${isOf(work)}`);
}

/** Counts a failure. After too many, or a day of them, the work is set aside. @returns the work as it is now. */
export async function countFailure(
  db: SystemDb,
  work: FailingWork,
  { subject, reason }: { subject: object; reason: string },
): Promise<SetAsideRow> {
  return db.one(sql.type(Row)`
    insert into set_aside as s (workspace_id, workflow_id, activity, id, subject, reason)
    values (${work.workspaceId}, ${work.workflowId}, ${work.activity}, ${newId()}, ${JSON.stringify(subject)}::jsonb, ${reason})
    on conflict (workspace_id, workflow_id, activity) do update
      set failures = s.failures + 1, last_failed_at = now(), reason = excluded.reason,
        set_aside_at = coalesce(s.set_aside_at, case
          when s.failures + 1 >= ${FAILURES_TO_SET_ASIDE} or s.first_failed_at < now() - interval '1 day' then now() end)
    returning *`);
}

/** The work has succeeded, or is to be tried again. */
export async function forgetFailures(db: SystemDb, work: FailingWork): Promise<void> {
  await db.query(sql.type(NoRows)`delete from set_aside where ${isOf(work)}`);
}

/** The `activity` of messages: their lines cannot send them, although they send others. */
export const SENDING = 'sendMessage';

/** What is set aside: work of workflows, and messages, whose attempts tell how they failed. */
const ALL = sql.fragment`(
  select id, workspace_id, workflow_id, activity, subject, reason, failures, first_failed_at, last_failed_at, set_aside_at
  from set_aside where set_aside_at is not null
  union all
  select m.id, m.workspace_id, ${linePacerId('')} || m.line_id, ${SENDING},
    jsonb_build_object('workspaceId', m.workspace_id, 'lineId', m.line_id, 'messageId', m.id),
    coalesce((array_agg(a.reason order by a.started_at desc))[1], ''), count(*)::int,
    min(a.started_at), max(a.started_at), max(a.started_at)
  from messages m join attempts a on a.workspace_id = m.workspace_id and a.message_id = m.id
  where ${IS_SET_ASIDE}
  group by m.workspace_id, m.id)`;

/** What is set aside, oldest first. */
export async function listSetAside(db: SystemDb, limit: number): Promise<readonly SetAsideRow[]> {
  const rows = await db.any(sql.type(Row)`select * from ${ALL} s order by set_aside_at, id limit ${limit}`);
  return rows.map((row) => ({ ...row, reason: withoutPersons(row.reason) }));
}

export async function findSetAside(db: SystemDb, id: string): Promise<SetAsideRow | null> {
  return db.maybeOne(sql.type(Row)`select * from ${ALL} s where id = ${id}`);
}

/** The workflow does not look again before new work wakes it. */
export async function deleteWake(
  db: SystemDb,
  { workspaceId, workflowId }: Pick<FailingWork, 'workspaceId' | 'workflowId'>,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from workflow_wakes where workspace_id = ${workspaceId} and workflow_id = ${workflowId}`);
}
