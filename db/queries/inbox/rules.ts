import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { durationMs } from '#domain/base/duration.ts';
import { newId } from '#domain/base/ids.ts';
import { lowerCaseTags, uniqueTags } from '#domain/inbox/conversation.ts';
import { Rule, type RuleInput, RuleTrigger } from '#domain/inbox/rule.ts';

const RuleRow = z.object({
  id: z.string(),
  name: z.string(),
  trigger: RuleTrigger,
  afterMs: z.number().nullable(),
  tags: z.array(z.string()),
  conditions: Rule.shape.when,
  actions: Rule.shape.do,
  createdAt: z.date(),
  updatedAt: z.date(),
});
export type RuleRow = z.infer<typeof RuleRow>;

/** All of them, oldest first, which is the order in which they are done. */
export const listRules = (db: TenantDb): Promise<readonly RuleRow[]> =>
  db.any(sql.type(RuleRow)`select * from rules where workspace_id = ${db.workspaceId} order by id`);

export const findRule = (db: TenantDb, id: string): Promise<RuleRow | null> =>
  db.maybeOne(sql.type(RuleRow)`select * from rules where workspace_id = ${db.workspaceId} and id = ${id}`);

/** Of any case. */
const tagsArray = (tags: readonly string[] = []) => sql.array(lowerCaseTags(uniqueTags(tags)), 'text');

export async function insertRule(db: TenantDb, input: RuleInput, now: Date): Promise<RuleRow> {
  return db.one(sql.type(RuleRow)`
    insert into rules (workspace_id, id, name, trigger, after_ms, tags, conditions, actions, created_at, updated_at)
    values (${db.workspaceId}, ${newId(now)}, ${input.name}, ${input.on}, ${input.after ? durationMs(input.after) : null},
      ${tagsArray(input.tags)}, ${sql.jsonb(input.when)}, ${sql.jsonb(input.do)},
      ${sql.timestamp(now)}, ${sql.timestamp(now)})
    returning *`);
}

/** Locks a rule, to be changed. */
export const lockRule = (db: TenantDb, id: string): Promise<RuleRow | null> =>
  db.maybeOne(sql.type(RuleRow)`
    select * from rules where workspace_id = ${db.workspaceId} and id = ${id} for no key update`);

/** Replaces what a rule says. Requires `lockRule`. */
export async function updateRule(db: TenantDb, id: string, input: RuleInput, now: Date): Promise<RuleRow> {
  return db.one(sql.type(RuleRow)`
    update rules set name = ${input.name}, trigger = ${input.on}, after_ms = ${input.after ? durationMs(input.after) : null},
      tags = ${tagsArray(input.tags)}, conditions = ${sql.jsonb(input.when)}, actions = ${sql.jsonb(input.do)},
      updated_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and id = ${id}
    returning *`);
}

/** Deletes a rule with what waits for it; what it has done stays recorded. @returns false if there is no such rule. */
export async function deleteRule(db: TenantDb, id: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from rules where workspace_id = ${db.workspaceId} and id = ${id}`);
  await db.query(sql.type(NoRows)`
    delete from rule_runs where workspace_id = ${db.workspaceId} and rule_id = ${id} and due_at is not null`);
  return rowCount > 0;
}

export const presentRule = ({ id, trigger, afterMs, tags, conditions, actions, ...row }: RuleRow): Rule => ({
  _id: id,
  name: row.name,
  on: trigger,
  ...(afterMs !== null && { after: { minutes: afterMs / 60_000 } }),
  ...(tags.length > 0 && { tags }),
  when: conditions,
  do: actions,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});
