import type { Logger } from 'pino';
import { Gauge, type Registry } from 'prom-client';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb } from '#db/connection/transactions.ts';
import {
  type Backlog,
  countLines,
  countWebhooks,
  type LineCount,
  readBacklog,
  type WebhookCount,
} from '#db/queries/messages/backlog.ts';
import { type RecordedRun, recordedRuns } from '#db/queries/sending/recorded-runs.ts';
import { clockOffset } from '#domain/base/clock.ts';
import { inTime, REQUIRED_TIMEOUT_MS } from '#providers/readiness.ts';

/** Scrapes within this time get the same counts. */
const COUNT_EVERY_MS = 5000;
/** Counting lines and webhooks reads them all. */
const COUNT_LINES_EVERY_MS = 20_000;

const BACKLOG: Record<keyof Backlog, [name: string, help: string]> = {
  bufferedDrips: ['linepace_buffered_drips', 'Accepted drips that have not become messages yet'],
  oldestDripSeconds: ['linepace_buffered_drip_age_seconds', 'Age of the oldest buffered drip'],
  lateDripWorkspaces: [
    'linepace_late_drip_workspaces',
    'Workspaces with a drip that has waited longer than 30 seconds to become a message',
  ],
  lateWebhooks: [
    'linepace_late_webhooks',
    'Webhooks with a delivery that has waited longer than ten minutes',
  ],
  openDeliveries: ['linepace_open_webhook_deliveries', 'Webhook deliveries that are pending or in progress'],
  oldestDeliverySeconds: ['linepace_open_webhook_delivery_age_seconds', 'Age of the oldest open delivery'],
  overdueWorkflows: ['linepace_overdue_workflows', 'Workflows whose next round is overdue'],
  openAttempts: ['linepace_open_attempts', 'Attempts to send without an outcome'],
  undraftedReplies: ['linepace_undrafted_replies', 'Replies that wait for a draft by the model'],
  runningImports: ['linepace_running_imports', 'Lead imports in progress'],
  failingWork: ['linepace_failing_work', 'Work that fails again and again, before it is set aside'],
  setAside: ['linepace_set_aside', 'Work that always fails and waits for an operator'],
  exhaustedModelBudgets: [
    'linepace_exhausted_model_budgets',
    'Workspaces that get no drafts until tomorrow, because the budget for the language model is used up',
  ],
  misfitSenders: [
    'linepace_misfit_senders',
    'Messages of the last day whose sender does not fit the channel of their line',
  ],
  brokenCrms: ['linepace_broken_crms', 'Connected CRMs that refuse their token'],
  deadlocks: ['linepace_database_deadlocks', 'Deadlocks that PostgreSQL has detected in this database'],
};

const CARRIER_STATES = ['sending', 'down', 'blocked'] as const;

function carrierState(state: string): (typeof CARRIER_STATES)[number] | null {
  if (state === 'down' || state === 'blocked') return state;
  return ['not_provisioned', 'inactive', 'paused'].includes(state) ? null : 'sending';
}

const RUN_AGES: Record<RecordedRun, [name: string, help: string]> = {
  sweep: ['linepace_last_sweep_age_seconds', 'Time since the last sweep for overdue workflows'],
  backup: [
    'linepace_last_backup_age_seconds',
    'Time since the last recorded backup; absent if there was none',
  ],
};

/**
 * Counts in the database. They are the same in every process, so queries aggregate with `max`. They are absent while the
 * database does not respond.
 */
export function observeDatabase(pools: Pools, registry: Registry, logger: Logger): void {
  const db = systemDb(pools);
  const registers = [registry];
  let counted: Promise<void> | null = null;
  let countedAt = -Infinity;
  const gauges = Object.entries(BACKLOG).map(([key, [name, help]]) => {
    const gauge = new Gauge({ name, help, registers, collect: () => counts() });
    return { key: key as keyof Backlog, gauge };
  });
  const ages = new Map(
    Object.entries(RUN_AGES).map(([run, [name, help]]) => [
      run,
      new Gauge({ name, help, registers, collect: () => counts() }),
    ]),
  );
  const lines = new Gauge({
    name: 'linepace_lines',
    help: 'Lines by state',
    labelNames: ['state'] as const,
    registers,
    collect: () => counts(),
  });
  const carrierLines = new Gauge({
    name: 'linepace_carrier_lines',
    help: 'Active lines by carrier: that can send, are down, or whose carrier takes no messages',
    labelNames: ['carrier', 'state'] as const,
    registers,
    collect: () => counts(),
  });
  const reputations = new Gauge({
    name: 'linepace_line_reputations',
    help: 'Active lines by the state of their reputation',
    labelNames: ['state'] as const,
    registers,
    collect: () => counts(),
  });
  new Gauge({
    name: 'linepace_clock_offset_seconds',
    help: "How far the clock of this process is ahead of PostgreSQL's",
    registers,
    collect() {
      this.set(clockOffset());
    },
  });
  new Gauge({
    name: 'linepace_database_connections',
    help: 'Connections of this process to PostgreSQL, and queries that wait for one, by pool',
    labelNames: ['pool', 'state'] as const,
    registers,
    collect() {
      for (const [name, pool] of Object.entries({ tenant: pools.tenant.pool, system: pools.system })) {
        const { acquiredConnections, idleConnections, waitingClients } = pool.state();
        this.set({ pool: name, state: 'active' }, acquiredConnections);
        this.set({ pool: name, state: 'idle' }, idleConnections);
        this.set({ pool: name, state: 'waiting' }, waitingClients);
      }
    },
  });

  const webhooks = new Gauge({
    name: 'linepace_webhooks',
    help: 'Active webhooks: that work, and whose last deliveries have all failed',
    labelNames: ['state'] as const,
    registers,
    collect: () => counts(),
  });

  let all: { at: number; lines: readonly LineCount[]; webhooks: WebhookCount } | null = null;
  async function allNow() {
    if (!all || performance.now() - all.at >= COUNT_LINES_EVERY_MS) {
      const [lineRows, webhookCount] = await Promise.all([countLines(db), countWebhooks(db)]);
      all = { at: performance.now(), lines: lineRows, webhooks: webhookCount };
    }
    return all;
  }

  async function count(): Promise<void> {
    try {
      const [backlog, now, runs] = await inTime(
        Promise.all([readBacklog(db), allNow(), recordedRuns(db)]),
        REQUIRED_TIMEOUT_MS,
      );
      for (const { key, gauge } of gauges) gauge.set(backlog[key]);
      for (const gauge of ages.values()) gauge.remove();
      for (const { run, seconds } of runs) ages.get(run)?.set(seconds);
      lines.reset();
      carrierLines.reset();
      reputations.reset();
      webhooks.set({ state: 'working' }, now.webhooks.working);
      webhooks.set({ state: 'failing' }, now.webhooks.failing);
      for (const { carrier, state, reputation, count } of now.lines) {
        lines.inc({ state }, count);
        // Zeros, too: an alert compares with the past.
        for (const own of CARRIER_STATES) {
          const isOwn = carrierState(state) === own;
          carrierLines.inc({ carrier, state: own }, isOwn ? count : 0);
        }
        if (reputation !== null) reputations.inc({ state: reputation }, count);
      }
    } catch (error) {
      logger.warn({ error }, 'the backlog could not be counted');
      for (const gauge of [...gauges.map(({ gauge }) => gauge), ...ages.values()]) gauge.remove();
      lines.reset();
      carrierLines.reset();
      reputations.reset();
      webhooks.reset();
    }
  }

  function counts(): Promise<void> {
    if (performance.now() - countedAt >= COUNT_EVERY_MS) {
      countedAt = performance.now();
      counted = count();
    }
    return counted ?? Promise.resolve();
  }
}
