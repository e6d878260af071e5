import { sql } from 'slonik';
import { z } from 'zod';
import { ReputationState } from '#domain/lines/reputation.ts';
import { TEST_CARRIER } from '#domain/test-mode/test-mode.ts';
import type { SystemDb } from '#db/connection/transactions.ts';
import { DELIVERS } from '../events/webhooks.ts';
import { IS_SET_ASIDE } from './messages.ts';
import { isLive } from '../operations/live.ts';

/** Ages in seconds; 0 if nothing waits. */
const Backlog = z.object({
  bufferedDrips: z.int(),
  oldestDripSeconds: z.number(),
  lateDripWorkspaces: z.int(),
  openDeliveries: z.int(),
  lateWebhooks: z.int(),
  oldestDeliverySeconds: z.number(),
  overdueWorkflows: z.int(),
  openAttempts: z.int(),
  undraftedReplies: z.int(),
  runningImports: z.int(),
  failingWork: z.int(),
  setAside: z.int(),
  exhaustedModelBudgets: z.int(),
  misfitSenders: z.int(),
  brokenCrms: z.int(),
  deadlocks: z.int(),
});
/** The pending work of all workspaces. */
export type Backlog = z.infer<typeof Backlog>;

/** Larger backlogs are not counted exactly. */
const MAX_COUNT = 100_000;

/** Then operators are told. Attempts are a minute apart at most, and most failures are over sooner. */
const FAILURES_TO_TELL = 3;
/** Then as well. */
const DRIPS_LATE = sql.fragment`interval '30 seconds'`;
const DELIVERIES_LATE = sql.fragment`interval '10 minutes'`;

const age = (column: string) =>
  sql.fragment`coalesce(extract(epoch from now() - min(${sql.identifier([column])})), 0)::float8`;

const LIVE = isLive(sql.fragment`workspace_id`);

/** Reads only partial indexes and tables whose rows are deleted when they are processed. Test mode does not count. */
export async function readBacklog(db: SystemDb): Promise<Backlog> {
  return db.one(sql.type(Backlog)`
    select drips.count buffered_drips, drips.age oldest_drip_seconds, drips.late late_drip_workspaces,
      deliveries.count open_deliveries, deliveries.age oldest_delivery_seconds, deliveries.late late_webhooks,
      (select count(*) from workflow_wakes where sweep_at < now() and ${LIVE}) overdue_workflows,
      (select count(*) from attempts where outcome is null and ${LIVE}) open_attempts,
      (select count(*) from ai_drafts where status = 'waiting' and ${LIVE}) undrafted_replies,
      (select count(*) from lead_imports where status = 'running' and ${LIVE}) running_imports,
      (select count(*) from set_aside where set_aside_at is null and failures >= ${FAILURES_TO_TELL}
        and last_failed_at > now() - interval '10 minutes' and ${LIVE}) failing_work,
      (select count(*) from set_aside where set_aside_at is not null and ${LIVE})
        + (select count(*) from messages where ${IS_SET_ASIDE} and ${LIVE}) set_aside,
      (select count(*) from ai_usage u join workspaces w on w.id = u.workspace_id
        where u.day = (now() at time zone w.timezone)::date and u.tokens >= w.ai_tokens_per_day
          and w.live_workspace_id is null) exhausted_model_budgets,
      (select count(*) from inbound_messages
        where warning = 'invalid_sender' and created_at > now() - interval '1 day' and ${LIVE}) misfit_senders,
      (select count(*) from crm_connections where status = 'broken' and ${LIVE}) broken_crms,
      (select deadlocks from pg_stat_database where datname = current_database()) deadlocks
    from
      (select count(*), ${age('created_at')} age,
          count(distinct workspace_id) filter (where created_at < now() - ${DRIPS_LATE})::int late
        from (select workspace_id, created_at from drip_buffer
          where ${LIVE} limit ${MAX_COUNT}) d) drips,
      (select count(*), ${age('created_at')} age,
          count(distinct webhook_id) filter (where created_at < now() - ${DELIVERIES_LATE})::int late
        from (select workspace_id, webhook_id, created_at from webhook_deliveries
          where status <> 'done' and ${LIVE} limit ${MAX_COUNT}) d
        -- What waits for a webhook that is inactive, or has ended with its key, is not late.
        where exists (select from webhooks h where h.workspace_id = d.workspace_id and h.id = d.webhook_id and ${DELIVERS})) deliveries`);
}

const LineCount = z.object({
  carrier: z.string(),
  state: z.string(),
  /** The reputation of active lines; null for others. */
  reputation: ReputationState.nullable(),
  count: z.int(),
});
export type LineCount = z.infer<typeof LineCount>;

/** The number of lines by carrier, state and reputation, without those of test mode, which fail as somebody likes. Reads all lines. */
export async function countLines(db: SystemDb): Promise<readonly LineCount[]> {
  return db.any(sql.type(LineCount)`
    select carrier, case
        when provisioning_status <> 'active' then 'not_provisioned'
        when not is_active then 'inactive'
        when paused_at is not null then 'paused'
        when blocked_at is not null and health_status <> 'down' then 'blocked'
        else health_status
      end state,
      case when is_active and provisioning_status = 'active' then reputation_state end reputation, count(*) count
    from lines where carrier <> ${TEST_CARRIER} group by 1, 2, 3`);
}

const WebhookCount = z.object({ working: z.int(), failing: z.int() });
export type WebhookCount = z.infer<typeof WebhookCount>;

/** Then a webhook counts as failing: any endpoint fails once in a while. */
const FAILURES_IN_A_ROW = 3;

/** The webhooks that deliver, without those of test mode, and those among them whose last deliveries have all failed. Reads all webhooks. */
export async function countWebhooks(db: SystemDb): Promise<WebhookCount> {
  return db.one(sql.type(WebhookCount)`
    select count(*) filter (where not is_failing) working, count(*) filter (where is_failing) failing
    from (
      select case when h.last_failure_at > coalesce(h.last_success_at, '-infinity')
        then (select count(*) from (
            select d.success from webhook_deliveries d
            where d.workspace_id = h.workspace_id and d.webhook_id = h.id and d.status = 'done'
            order by d.id desc limit ${FAILURES_IN_A_ROW}) last
          where not success) = ${FAILURES_IN_A_ROW}
        else false end is_failing
      from webhooks h where ${DELIVERS} and ${isLive(sql.fragment`h.workspace_id`)}) webhooks`);
}
