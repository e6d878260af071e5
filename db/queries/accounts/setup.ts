import { sql } from 'slonik';
import { z } from 'zod';
import { NO_CARRIER } from '#domain/lines/line.ts';
import { type Setup, setupOf } from '#domain/accounts/setup.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/** The number of sent but undelivered messages among which an email is looked for. */
const SENT_READ = 1000;

const SetupRow = z.object({
  line: z.boolean(),
  message: z.boolean(),
  reply: z.boolean(),
  webhook: z.boolean(),
  contacts: z.boolean(),
  team: z.boolean(),
  dismissed: z.boolean(),
});

/** Which of the first steps are done, determined by what exists: each is one index lookup. */
export async function findSetup(db: TenantDb): Promise<Setup> {
  const workspace = sql.fragment`workspace_id = ${db.workspaceId}`;
  const { dismissed, ...done } = await db.one(sql.type(SetupRow)`
    select
      exists (
        select from lines where ${workspace} and provisioning_status = 'active' and is_active and carrier <> ${NO_CARRIER}
      ) line,
      exists (select from messages where ${workspace} and status = 'delivered') or exists (
        select from (
          select channel from messages where ${workspace} and status = 'sent' order by id limit ${SENT_READ}
        ) sent where channel = 'email'
      ) message,
      exists (select from inbound_messages where ${workspace} and not auto_reply) reply,
      exists (select from webhooks where ${workspace}) webhook,
      exists (
        select from lead_lists l where ${workspace} and not is_quick_sends and deleted_at is null
          and exists (select from leads where ${workspace} and list_id = l.id)
      ) contacts,
      (select count(*) > 1 from (select from current_team() limit 2) members) team,
      setup_dismissed_at is not null dismissed
    from workspaces where id = ${db.workspaceId}`);
  return setupOf(done, dismissed);
}

/** Hides the first steps, or shows them again. */
export async function dismissSetup(db: TenantDb, dismissed: boolean, now: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workspaces set setup_dismissed_at = ${dismissed ? sql.timestamp(now) : null} where id = ${db.workspaceId}`);
}
