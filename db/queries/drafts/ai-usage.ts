import { sql } from 'slonik';
import { z } from 'zod';
import { emptyBudget, type ModelBudget } from '#domain/drafts/ai-budget.ts';
import { localDate } from '#domain/base/calendar.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { workspaceTimezone } from '../accounts/workspaces.ts';

const BudgetRow = z.object({ perDay: z.int(), used: z.int(), isTest: z.boolean() });

/** The workspace's model budget, and what it has used of it on the current day in its time zone. */
export async function modelBudget(db: TenantDb, now: Date): Promise<ModelBudget> {
  const today = localDate(await workspaceTimezone(db), now);
  const found = await db.maybeOne(sql.type(BudgetRow)`
    select w.ai_tokens_per_day per_day, coalesce(u.tokens, 0)::int8 used, w.live_workspace_id is not null is_test
    from workspaces w left join ai_usage u on u.workspace_id = w.id and u.day = ${today}
    where w.id = ${db.workspaceId}`);
  return found ?? emptyBudget;
}

const TokensRow = z.object({ tokens: z.int() });

/** @returns the tokens used on the current day, these included. */
export async function addTokens(db: TenantDb, tokens: number, now: Date): Promise<number> {
  const today = localDate(await workspaceTimezone(db), now);
  return db.oneFirst(sql.type(TokensRow)`
    insert into ai_usage as u (workspace_id, day, tokens) values (${db.workspaceId}, ${today}, ${tokens})
    on conflict (workspace_id) do update
      set day = excluded.day, tokens = excluded.tokens + case when u.day = excluded.day then u.tokens else 0 end
    returning tokens::int8`);
}

/** Sets how many tokens of the model the workspace may use a day. */
export async function setTokensPerDay(db: TenantDb, tokens: number): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workspaces set ai_tokens_per_day = ${tokens} where id = ${db.workspaceId}`);
}
