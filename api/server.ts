import { checkKeys } from '#db/connection/key-check.ts';
import { recordMessageTraces } from '#db/connection/message-traces.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { type Config, readConfig } from '#domain/base/config.ts';
import { announceReady, exitWithParent } from '#providers/lifecycle.ts';
import { createLogger } from '#providers/log.ts';
import { whyUnreadable } from '#providers/named-files.ts';
import { startTracing } from '#providers/tracing.ts';
import { createApp } from './http/app.ts';
import { listen } from './http/listen.ts';
import { openServices } from './open-services.ts';
import { publishedRoutes, routes } from './routes.ts';
import { announceSetup } from './routes/accounts/setup-announcement.ts';
import { startChatPolling } from './routes/drafts/chat-polling.ts';
import type { Services } from './services.ts';

export interface RunningApi {
  url: string;
  stop(): Promise<void>;
}

/** Starts an API process; any number can run concurrently. */
export async function startApi(config: Config): Promise<RunningApi> {
  const logger = createLogger('api', config.logLevel);
  const { services, close } = await openServices(config, logger);
  const { pools, secrets, signer, callers, streams } = services;
  // A process with wrong keys is not ready (`/readyz`). The first process of a database creates what others check.
  await checkKeys(systemDb(pools), { secrets, signer }).catch((error: unknown) => {
    logger.fatal({ error }, 'the keys of the API cannot read what is stored');
  });
  callers.onChange(() => streams.checkSoon());
  const servers = await openServers(config, services);
  logger.info({ port: servers.port }, 'the API is listening');
  if (config.production && config.securityContact === null)
    logger.warn('nobody is told where to report a vulnerability: SECURITY_CONTACT is not set');
  const endAnnouncement = announceSetup(pools, config, logger);
  const chatPolling = startChatPolling(services);

  return {
    url: `http://localhost:${servers.port}`,
    async stop() {
      endAnnouncement();
      services.parts.stop();
      await Promise.all([streams.close(), servers.close(), chatPolling.stop()]);
      await close();
    },
  };
}

/** The server of the API, and that of the metrics if it has a port of its own. */
async function openServers(config: Config, services: Services) {
  const { host, metricsPort } = config;
  const server = await listen(createApp(publishedRoutes(config), services), { host, port: config.port });
  const ofMetrics = routes.filter(({ id }) => id === 'metrics');
  const metricsServer =
    metricsPort === null
      ? null
      : await listen(createApp(ofMetrics, services), { host, port: metricsPort, variable: 'METRICS_PORT' });
  return {
    port: server.port,
    close: () => Promise.all([server.close(), metricsServer?.close()]),
  };
}

if (import.meta.main) {
  const config = readConfig(process.env, { reader: 'API', whyUnreadable });
  const stopTracing = await startTracing('api', config.traces, recordMessageTraces);
  const api = await startApi(config);
  exitWithParent(() => api.stop().then(stopTracing));
  announceReady();
}
