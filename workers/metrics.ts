import type { Logger } from 'pino';
import { dnsLookups } from '#providers/dns-metrics.ts';
import { storageFailures } from '#providers/storage/storage-metrics.ts';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Pools } from '#db/connection/pools.ts';
import type { TemporalOptions } from '#providers/temporal.ts';
import { credentialExpiries } from '#providers/temporal-credentials.ts';
import type { CarrierCall } from '#providers/carriers/observed.ts';
import { observeDatabase } from './database-metrics.ts';

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
