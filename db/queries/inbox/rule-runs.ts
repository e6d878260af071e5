import { sql } from 'slonik';
import { z } from 'zod';
import { AtRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { Judged, type Judgement, storedJudged } from '#domain/campaigns/judge.ts';
import { RuleDeed, RuleTrigger, TextWithheld } from '#domain/inbox/rule.ts';
import type { Plan } from '#domain/inbox/rule-plan.ts';

export const RuleRunRow = z.object({
  id: z.string(),
  ruleId: z.string(),
  ruleName: z.string(),
  trigger: RuleTrigger,
  address: z.string(),
  lineId: z.string().nullable(),
  replyId: z.string().nullable(),
  callId: z.string().nullable(),
  happenedAt: z.date(),
  dueAt: z.date().nullable(),
  ranAt: z.date().nullable(),
  did: z.array(RuleDeed),
  withheld: TextWithheld.nullable(),
  why: z.string().nullable(),
  judged: z.array(Judged),
  messageId: z.string().nullable(),
});
export type RuleRunRow = z.infer<typeof RuleRunRow>;

const texts = (ids: readonly string[]) => sql.array([...ids], 'text');

/** By their ids, in any order. */
export const findRuleRuns = (db: TenantDb, ids: readonly string[]): Promise<readonly RuleRunRow[]> =>
  db.any(sql.type(RuleRunRow)`
    select * from rule_runs where workspace_id = ${db.workspaceId} and id = any(${texts(ids)})`);

export async function findRuleRun(db: TenantDb, id: string): Promise<RuleRunRow | null> {
  const [run] = await findRuleRuns(db, [id]);
  return run ?? null;
}

const DueRow = z.object({ id: z.string() });

/** In the order in which they are due; of one happening, in the order of the rules. */
export const dueRuleRuns = (db: TenantDb, now: Date, limit: number): Promise<readonly string[]> =>
  db.anyFirst(sql.type(DueRow)`
    select id from rule_runs
    where workspace_id = ${db.workspaceId} and due_at <= ${sql.timestamp(now)} order by due_at, id limit ${limit}`);

export const nextRuleRunAt = (db: TenantDb): Promise<Date | null> =>
  db.oneFirst(sql.type(AtRow)`
    select min(due_at) "at" from rule_runs where workspace_id = ${db.workspaceId} and due_at is not null`);

/** Locks a run, as the last lock before its plan is carried out. @returns false if it is done. */
export const lockRuleRun = (db: TenantDb, id: string): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select 1 from rule_runs where workspace_id = ${db.workspaceId} and id = ${id} and due_at is not null for update`);

/** Of a rule that is gone, or whose conditions do not hold. */
export async function deleteRuleRun(db: TenantDb, id: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from rule_runs where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** Nobody may have to answer before this time. */
export async function postponeRuleRun(db: TenantDb, id: string, dueAt: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update rule_runs set due_at = ${sql.timestamp(dueAt)} where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** Records what a rule did. Requires `lockRuleRun`. */
export async function finishRuleRun(
  db: TenantDb,
  id: string,
  {
    ruleName,
    did,
    withheld,
    why,
    judged,
    messageId,
  }: Pick<Plan, 'did' | 'withheld'> &
    Pick<Judgement, 'why' | 'judged'> & { ruleName: string; messageId: string | null },
  now: Date,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update rule_runs set due_at = null, ran_at = ${sql.timestamp(now)}, rule_name = ${ruleName}, did = ${texts(did)},
      withheld = ${withheld}, why = ${why}, judged = ${sql.jsonb([...storedJudged(judged)])}, message_id = ${messageId}
    where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** When a rule last sent a text to one of these addresses of a contact. */
export const lastRuleTextAt = (db: TenantDb, addresses: readonly string[]): Promise<Date | null> =>
  db.oneFirst(sql.type(AtRow)`
    select max(ran_at) "at" from rule_runs
    where workspace_id = ${db.workspaceId} and address = any(${texts(addresses)}) and ran_at is not null
      and message_id is not null`);

const NameRow = z.object({ ruleName: z.string() });

/** The rule that sent a message; null: none, or it is no longer recorded. */
export const ruleOfMessage = (
  db: TenantDb,
  { id, address }: { id: string; address: string },
): Promise<string | null> =>
  db.maybeOneFirst(sql.type(NameRow)`
    select rule_name from rule_runs
    where workspace_id = ${db.workspaceId} and address = ${address} and ran_at is not null and message_id = ${id} limit 1`);
