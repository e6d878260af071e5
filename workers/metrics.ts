import type { Logger } from 'pino';
import { inTime, REQUIRED_TIMEOUT_MS } from '#providers/readiness.ts';
import { dnsLookups } from '#providers/dns-metrics.ts';
import { storageFailures } from '#providers/storage/storage-metrics.ts';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Pools } from '#db/connection/pools.ts';
import {
  type Backlog,
  countLines,
  countWebhooks,
  type LineCount,
  readBacklog,
  type WebhookCount,
} from '#db/queries/messages/backlog.ts';
import { clockOffset } from '#domain/base/clock.ts';
import { type RecordedRun, recordedRuns } from '#db/queries/sending/recorded-runs.ts';
import { systemDb } from '#db/connection/transactions.ts';
import type { TemporalOptions } from '#providers/temporal.ts';
import { credentialExpiries } from '#providers/temporal-credentials.ts';
import type { CarrierCall } from '#providers/carriers/observed.ts';

/** The Prometheus metrics of a worker process. No label names a tenant, a line or an address. */
export interface WorkerMetrics {
  registry: Registry;
  /** Begins to count, so that alerts notice the first call that is not answered: a series that only begins with it shows no increase. */
  expectCallsOf(carriers: readonly string[]): void;
  onCarrierCall(call: CarrierCall): void;
  onDelivery(result: { responseStatus: number | null; latencyMs: number }): void;
  /** Measures how long events wait for their first delivery, and for one that succeeds. */
  onEventDelivered(until: 'first_attempt' | 'success', seconds: number): void;
  /** Measures how late messages are sent: since no rule or gap has held them. */
  onSent(carrier: string, lateSeconds: number): void;
  /** Counts workflows that the sweep has woken because their signal was lost, and those that it started anew. */
  onSweep(found: { woken: number; restarted: number }): void;
  /** Whether Temporal sends tasks to the build of this process. */
  onBuildServed(isServed: boolean): void;
  onLookup(result: 'answered' | 'failed'): void;
  onStorageFailure(operation: 'put' | 'open' | 'delete'): void;
  /** Counts what the configured language model has read and written. */
  onModelTokens(tokens: number): void;
}

/** Gaps are seconds to minutes; sweeps repair lost signals within some minutes. */
const LATE_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600];
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function createWorkerMetrics(pools: Pools, temporal: TemporalOptions, logger: Logger): WorkerMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  observeDatabase(pools, registry, logger);
  observeCredentials(temporal, registry);
  const carrierCalls = new Histogram({
    name: 'linepace_carrier_request_duration_seconds',
    help: 'Calls to carriers by operation and outcome',
    labelNames: ['carrier', 'operation', 'outcome'] as const,
    buckets: SECONDS,
    registers,
  });
  const deliveries = new Histogram({
    name: 'linepace_webhook_delivery_duration_seconds',
    help: 'Deliveries to webhooks by result: a class of status, or no_response',
    labelNames: ['result'] as const,
    buckets: SECONDS,
    registers,
  });
  const eventWaits = new Histogram({
    name: 'linepace_webhook_lateness_seconds',
    help: 'From the storing of an event until a webhook was sent it for the first time, or has taken it',
    labelNames: ['until'] as const,
    buckets: LATE_SECONDS,
    registers,
  });
  const lateness = new Histogram({
    name: 'linepace_send_lateness_seconds',
    help: 'From the time at which a message might have been sent until its carrier has accepted it',
    labelNames: ['carrier'] as const,
    buckets: LATE_SECONDS,
    registers,
  });
  const swept = new Counter({
    name: 'linepace_sweep_woken_workflows_total',
    help: 'Workflows that were overdue because a signal was lost',
    registers,
  });
  const restarted = new Counter({
    name: 'linepace_sweep_restarted_workflows_total',
    help: 'Workflows that the sweep started anew because their tasks failed',
    registers,
  });
  const buildIsCurrent = new Gauge({
    name: 'linepace_build_is_current',
    help: 'Whether Temporal sends tasks to the build of this process: 1 or 0; absent until that is known',
    registers,
  });
  buildIsCurrent.remove();
  const modelTokens = new Counter({
    name: 'linepace_model_tokens_total',
    help: 'Tokens that the configured language model has read and written',
    registers,
  });
  const failures = storageFailures(registers);
  const lookups = dnsLookups(registers);
  return {
    registry,
    onLookup(result) {
      lookups.inc({ result });
    },
    onStorageFailure(operation) {
      failures.inc({ operation });
    },
    onModelTokens(tokens) {
      modelTokens.inc(tokens);
    },
    expectCallsOf(carriers) {
      for (const carrier of carriers) carrierCalls.zero({ carrier, operation: 'send', outcome: 'unknown' });
    },
    onCarrierCall({ carrier, operation, outcome, seconds }) {
      carrierCalls.observe({ carrier, operation, outcome }, seconds);
    },
    onDelivery({ responseStatus, latencyMs }) {
      const result = responseStatus === null ? 'no_response' : `${Math.floor(responseStatus / 100)}xx`;
      deliveries.observe({ result }, latencyMs / 1000);
    },
    onEventDelivered(until, seconds) {
      eventWaits.observe({ until }, seconds);
    },
    onSent(carrier, lateSeconds) {
      lateness.observe({ carrier }, lateSeconds);
    },
    onSweep({ woken, restarted: count }) {
      swept.inc(woken);
      restarted.inc(count);
    },
    onBuildServed(isServed) {
      buildIsCurrent.set(isServed ? 1 : 0);
    },
  };
}

function observeCredentials(temporal: TemporalOptions, registry: Registry): void {
  new Gauge({
    name: 'linepace_temporal_credential_expires_timestamp_seconds',
    help: 'When the client certificate or the API key for Temporal expires; absent if it does not say so',
    labelNames: ['credential'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const [credential, expires] of Object.entries(credentialExpiries(temporal)))
        if (expires !== null) this.set({ credential }, expires);
    },
  });
}

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
function observeDatabase(pools: Pools, registry: Registry, logger: Logger): void {
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
