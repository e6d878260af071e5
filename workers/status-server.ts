import { createServer, type ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { checkKeys, type ProcessKeys } from '#db/connection/key-check.ts';
import { ping } from '#db/queries/operations/readiness.ts';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { listenError } from '#providers/listen-error.ts';
import { checkReadiness, checkTemporal, isStuck, observeReadiness } from '#providers/readiness.ts';
import type { WatchedParts } from '#providers/parts.ts';
import type { Client } from '@temporalio/client';
import type { BuildRouting } from './build-routing.ts';
import type { WorkerMetrics } from './metrics.ts';

export interface StatusServer {
  close(): Promise<void>;
}

interface Observed {
  pools: Pools;
  temporal: Client['connection'];
  metrics: WorkerMetrics;
  /** The metrics of Temporal's SDK in the Prometheus text format. */
  sdkMetrics: () => Promise<string>;
  /** Whether every worker of the process polls. */
  isPolling: () => boolean;
  parts: Pick<WatchedParts, 'checks'>;
  routing: Pick<BuildRouting, 'isReady'>;
  keys: ProcessKeys;
  logger: Logger;
}

/**
 * Serves `/healthz` (the process runs, and PostgreSQL has answered within a minute), `/readyz` (it polls, Temporal sends tasks to its build, and PostgreSQL and Temporal
 * respond, and it has the right keys; `degraded` if an outside part such as the file store or the model does not) and `/metrics` of a worker.
 */
export async function startStatusServer(
  { host, port }: { host: string; port: number },
  { pools, temporal, metrics, sdkMetrics, isPolling, parts, routing, keys, logger }: Observed,
): Promise<StatusServer> {
  const checks = {
    polling: async () => {
      if (!isPolling()) throw new Error('the worker does not poll');
    },
    build: async () => {
      if (!routing.isReady()) throw new Error('Temporal sends no tasks to the build of this worker');
    },
    postgresql: () => ping(systemDb(pools)),
    temporal: () => checkTemporal(temporal),
    keys: () => checkKeys(systemDb(pools), keys),
  };
  observeReadiness(checks, metrics.registry);

  async function readiness(response: ServerResponse): Promise<void> {
    const { ready, body } = await checkReadiness(checks, logger, parts.checks);
    json(response, ready ? 200 : 503, body);
  }

  const paths: Record<string, (response: ServerResponse) => Promise<void>> = {
    '/healthz': async (response) => {
      const stuck = isStuck(pools);
      json(response, stuck ? 503 : 200, { status: stuck ? 'stuck' : 'ok' });
    },
    '/readyz': readiness,
    '/metrics': async (response) => {
      const [own, sdk] = await Promise.all([metrics.registry.metrics(), sdkMetrics()]);
      response.setHeader('Content-Type', metrics.registry.contentType);
      response.end(own + sdk);
    },
  };
  const server = createServer((request, response) => {
    const respond = request.method === 'GET' ? paths[request.url ?? ''] : undefined;
    if (!respond) return json(response, 404, { error: 'not found' });
    respond(response).catch((error: unknown) => {
      logger.error({ error, path: request.url }, 'a status request failed');
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, port, 'METRICS_PORT')));
    server.listen(port, host, resolve);
  });
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(body));
}
