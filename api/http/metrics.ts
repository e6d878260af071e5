import { countInboxes } from '#db/queries/lines/line-inboxes.ts';
import { countUnreadable } from '#db/commands/inbox/unreadable.ts';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb } from '#db/connection/transactions.ts';
import type { Logger } from 'pino';
import { labeledCounter } from '#providers/labeled-counter.ts';
import { inTime, REQUIRED_TIMEOUT_MS } from '#providers/readiness.ts';
import { dnsLookups } from '#providers/dns-metrics.ts';
import { storageFailures } from '#providers/storage/storage-metrics.ts';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** The Prometheus metrics of an API process. */
export interface Metrics {
  registry: Registry;
  requests: Counter<'route' | 'method' | 'status'>;
  duration: Histogram<'route' | 'method'>;
  intakeBatch: Histogram;
  waitingWakes: Gauge;
  openStreams: Gauge;
  unloggedRequests: Counter;
  storageFailures: Counter<'operation'>;
  dnsLookups: Counter<'result'>;
  identityProviderCalls: Counter<'outcome'>;
}

/** Anyone may request `/metrics`, so it queries the database no more often than this. */
const COUNT_EVERY_MS = 5000;

export function createMetrics({ pools, logger }: { pools: Pools; logger: Logger }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const unreadable = {
    name: 'linepace_unreadable_inbound_messages',
    help: 'Inbound messages of the last 30 days that were skipped because they could not be parsed',
  };
  const db = systemDb(pools);
  registry.registerMetric(counted(unreadable, async (gauge) => gauge.set(await countUnreadable(db)), logger));
  const readAge = new Gauge({
    name: 'linepace_inbox_read_age_seconds',
    help: 'The time since the inbox of a line was read, of the one that can be read and was not for longest',
    registers,
  });
  const inboxes = {
    name: 'linepace_inboxes',
    help: 'Inboxes of active lines: that can be read, and that cannot',
    labelNames: ['state'],
  };
  registry.registerMetric(
    counted(
      inboxes,
      async (gauge) => {
        const { read, unreadable: failing, oldestSeconds } = await countInboxes(db);
        gauge.set({ state: 'read' }, read);
        gauge.set({ state: 'unreadable' }, failing);
        readAge.set(Math.max(0, oldestSeconds ?? 0));
      },
      logger,
    ),
  );
  return {
    registry,
    requests: new Counter({
      name: 'linepace_http_requests_total',
      help: 'Completed requests by route and status',
      labelNames: ['route', 'method', 'status'],
      registers,
    }),
    duration: new Histogram({
      name: 'linepace_http_request_duration_seconds',
      help: 'Request duration',
      labelNames: ['route', 'method'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers,
    }),
    intakeBatch: new Histogram({
      name: 'linepace_intake_batch_size',
      help: 'Bulk intake requests per commit',
      buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
      registers,
    }),
    waitingWakes: new Gauge({
      name: 'linepace_waiting_wakes',
      help: 'Workflows that are still to be signaled because Temporal did not respond',
      registers,
    }),
    openStreams: new Gauge({
      name: 'linepace_event_streams',
      help: 'Event streams that are open',
      registers,
    }),
    identityProviderCalls: labeledCounter(registers, {
      name: 'linepace_identity_provider_calls_total',
      help: 'Calls of the identity provider: ok, refused (it refuses the user), failed (it does not respond, or refuses this client)',
      label: 'outcome',
      values: ['ok', 'refused', 'failed'],
    }),
    unloggedRequests: new Counter({
      name: 'linepace_unlogged_requests_total',
      help: 'Requests that are missing in the logs of workspaces, because the database took no more rows',
      registers,
    }),
    storageFailures: storageFailures(registers),
    dnsLookups: dnsLookups(registers),
  };
}

/** A gauge that is read from the database, at most every few seconds. */
function counted(
  { name, help, labelNames = [] }: { name: string; help: string; labelNames?: string[] },
  count: (gauge: Gauge) => Promise<void>,
  logger: Logger,
): Gauge {
  let countedAt = -Infinity;
  return new Gauge({
    name,
    help,
    labelNames,
    registers: [],
    async collect() {
      if (performance.now() - countedAt < COUNT_EVERY_MS) return;
      countedAt = performance.now();
      try {
        await inTime(count(this), REQUIRED_TIMEOUT_MS);
      } catch (error) {
        // The other metrics matter most while the database does not respond.
        logger.warn({ error }, `${name} could not be determined`);
      }
    },
  });
}
