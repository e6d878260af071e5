import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import {
  type AttentionItem,
  AttentionKind,
  EXPIRING_DAYS,
  FAILED_HOURS,
  hrefOf,
  LineTrouble,
} from '#domain/inbox/attention.ts';
import { NO_CARRIER } from '#domain/lines/line.ts';
import { IS_ANSWER_TO_BE_SENT, contactWroteLast } from './conversation-filters.ts';
import { isListed } from './conversations.ts';
import { isOffered } from '../drafts/ai-drafts.ts';
import { DELIVERS } from '../events/webhooks.ts';
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
  const lately = new Date(now.getTime() - FAILED_HOURS * 3_600_000);
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
          when inbox_failing_since is not null and exists (
            select from line_inboxes i where i.workspace_id = lines.workspace_id and i.line_id = lines.id
          ) then 'mailbox_unreadable'
          when inbox_failing_since is not null then 'replies_not_reported'
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
      union all select 4, 'throttled_lines', null, count(*), min(l.reputation_since)
      from lines l join workspaces w on w.id = l.workspace_id
      where l.workspace_id = ${db.workspaceId} and l.provisioning_status = 'active' and l.stop_reason is null
        and l.reputation_state in ('watch', 'at_risk', 'critical')
        and coalesce(l.reputation_policy, w.reputation_policy) = 'protect'
        and coalesce(l.reputation_override_until, '-infinity') <= ${sql.timestamp(now)}
      union all select 5, 'failed_messages', null, count(*), min(updated_at)
      from messages where ${mine} and status = 'failed' and updated_at > ${sql.timestamp(lately)}
      union all select 6, 'suspected_opt_outs', null, count(*), min(created_at)
      from opt_out_suspicions where ${mine} and status = 'open'
      union all select 7, 'unanswered', null, count(*), min(c.last_inbound_at)
      from conversations c where ${isListed(db)} and ${contactWroteLast(now)} and not ${IS_ANSWER_TO_BE_SENT}
      union all select 8, 'drafts', null, count(*), min(d.created_at)
      from ai_drafts d where d.workspace_id = ${db.workspaceId} and d.status = 'drafted' and ${isOffered}
      union all select 9, 'failing_webhooks', null, count(*), min(coalesce(told_failing_at, last_failure_at))
      from webhooks h where ${mine} and ${DELIVERS} and last_failure_at > coalesce(last_success_at, '-infinity')
      union all select 10, 'broken_crms', null, count(*), min(failing_since)
      from crm_connections where ${mine} and status = 'broken'
      union all select 11, 'expiring_keys', null, count(*), min(expires_at)
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
