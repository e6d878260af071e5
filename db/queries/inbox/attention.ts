import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import {
  type AttentionItem,
  AttentionKind,
  EXPIRING_DAYS,
  hrefOf,
  LineTrouble,
} from '#domain/inbox/attention.ts';
import { NO_CARRIER } from '#domain/lines/line.ts';
import { isUnanswered } from './conversation-filters.ts';
import { isListed } from './conversations.ts';
import { IS_UNPAID } from '../accounts/workspaces.ts';

const AttentionRow = z.object({
  kind: AttentionKind,
  reason: LineTrouble.nullable(),
  count: z.int(),
  since: z.date().nullable(),
});

/** What waits for a person in a workspace, the most urgent first. */
export async function listAttention(db: TenantDb, now: Date): Promise<AttentionItem[]> {
  const mine = sql.fragment`workspace_id = ${db.workspaceId}`;
  const soon = new Date(now.getTime() + EXPIRING_DAYS * 86_400_000);
  const rows = await db.any(sql.type(AttentionRow)`
    with trouble as (
      select
        case
          when provisioning_status = 'failed' then 'provisioning_failed'
          when provisioning_status <> 'active' then null
          when carrier = ${NO_CARRIER} then 'line_not_connected'
          when stop_reason in ('line_inactive', 'line_paused', 'line_down') then stop_reason
          when blocked_at is not null then 'carrier_refuses'
          when stop_reason is not null then stop_reason
          when inbox_failing_since is not null then 'mailbox_unreadable'
        end reason,
        coalesce(case when stop_reason is not null then stopped_at else coalesce(blocked_at, inbox_failing_since) end, updated_at) since
      from lines where ${mine}
    )
    select kind, reason, count::int, since from (
      select 1 place, 'suspended' kind, null reason, count(*), min(suspended_at) since
      from workspaces where id = ${db.workspaceId} and suspended_at is not null
      union all select 2, 'unpaid', null, sum(unpaid), min(since) from (
        select count(*) unpaid, null::timestamptz since from workspaces where id = ${db.workspaceId} and ${IS_UNPAID}
        union all select count(*), min(created_at) from lines where ${mine} and provisioning_status = 'awaiting_payment'
      ) owed
      union all select 3, 'lines', reason, count(*), min(since) from trouble where reason is not null group by reason
      union all select 4, 'suspected_opt_outs', null, count(*), min(created_at)
      from opt_out_suspicions where ${mine} and status = 'open'
      union all select 5, 'unanswered', null, count(*), min(c.last_inbound_at)
      from conversations c where ${isListed(db)} and ${isUnanswered(now)}
      union all select 6, 'drafts', null, count(*), min(created_at)
      from ai_drafts where ${mine} and status = 'drafted'
      union all select 7, 'failing_webhooks', null, count(*), min(coalesce(told_failing_at, last_failure_at))
      from webhooks where ${mine} and is_active and last_failure_at > coalesce(last_success_at, '-infinity')
      union all select 8, 'expiring_keys', null, count(*), min(expires_at)
      from workspace_keys where ${mine} and revoked_at is null
        and expires_at > ${sql.timestamp(now)} and expires_at <= ${sql.timestamp(soon)}
    ) items
    where count > 0 order by place, reason`);
  return rows.map(({ kind, reason, count, since }) => ({
    kind,
    reason,
    count,
    since: since?.toISOString() ?? null,
    href: hrefOf(kind),
  }));
}
