import type { Logger } from 'pino';
import { createPolledKinds } from '#db/queries/operations/polled-kinds.ts';
import { startClock } from '#db/connection/clock.ts';
import { checkKeys } from '#db/connection/key-check.ts';
import { recordMessageTraces } from '#db/connection/message-traces.ts';
import { listenToAnnouncements } from '#db/connection/announcements.ts';
import { postgresAt } from '#db/connection/postgres-at.ts';
import { createApiPools } from '#db/connection/pools.ts';
import { testSends } from '#db/queries/test-mode/test-sends.ts';
import { type Config, readConfig } from '#domain/base/config.ts';
import { connectTo } from '#providers/connect-to.ts';
import { createCarriers } from '#providers/carriers/registry.ts';
import { startChatPolling } from './routes/drafts/chat-polling.ts';
import { createChats } from '#providers/chats/registry.ts';
import { createCrms } from '#providers/crms/registry.ts';
import { createEgress } from '#providers/egress.ts';
import { createLogger } from '#providers/log.ts';
import { whyUnreadable } from '#providers/named-files.ts';
import { createPayloadCodec } from '#providers/payload-codec.ts';
import { createPayments } from '#providers/payments/provider.ts';
import { createIdentityProvider, type IdentityProvider } from '#providers/identity-provider.ts';
import { outsideParts } from '#providers/outside-parts.ts';
import { watchParts } from '#providers/parts.ts';
import { observeReadiness } from '#providers/readiness.ts';
import { createKeySeal } from '#providers/key-seal.ts';
import { createSecretBox } from '#providers/secret-box.ts';
import { createSigner } from '#providers/signer.ts';
import { createSignedLinks } from '#providers/storage/signed-link.ts';
import { createStorage } from '#providers/storage/storage.ts';
import { createTaskQueues } from '#providers/task-queues.ts';
import { createTemporalClient, createWaker } from '#providers/temporal.ts';
import { announceReady, exitWithParent } from '#providers/lifecycle.ts';
import { startTracing } from '#providers/tracing.ts';
import { createUntrustedWork } from '#providers/untrusted/processes.ts';
import { systemDb, withTenantReads } from '#db/connection/transactions.ts';
import { createCallerCache } from './auth/caller-cache.ts';
import { localKeysOf } from './auth/local-issuer.ts';
import { createSessionVerifier } from './auth/session-token.ts';
import { createDripIntake } from './routes/messages/drip-intake.ts';
import { createReceipts } from './routes/messages/receipts.ts';
import { insertRequests } from '#db/queries/accounts/request-log.ts';
import { countUsed } from '#db/queries/accounts/limits.ts';
import { createRequestLog } from './routes/accounts/request-log.ts';
import { createRefusedRequests } from './routes/accounts/refused-requests.ts';
import { createWaitingMessages } from './routes/messages/waiting-messages.ts';
import { createPresenceBoard } from './routes/inbox/presence.ts';
import { createEventStreams } from './routes/events/stream/event-streams.ts';
import { createApp } from './http/app.ts';
import { listen } from './http/listen.ts';
import { createMetrics, type Metrics } from './http/metrics.ts';
import { requiredChecks } from './http/required.ts';
import { createRateLimits } from './http/rate-limits.ts';
import { publishedRoutes, routes } from './routes.ts';
import { CALLBACK_PATH } from './routes/accounts/sign-in.ts';
import type { Services } from './services.ts';
import { announceSetup } from './routes/accounts/setup-announcement.ts';

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

/** What the routes use. Nothing of it may be used after `close`. */
async function openServices(
  config: Config,
  logger: Logger,
): Promise<{ services: Services; close(): Promise<void> }> {
  const temporal = createTemporalClient(config.temporal);
  const polled = createPolledKinds();
  const waker = createWaker(temporal, logger, polled);
  const secrets = createSecretBox(config.encryptionKeys);
  const pools = await connectTo(
    postgresAt(config.database.systemUrl),
    () =>
      createApiPools(config.database, config.databasePoolSize, { waker, keySeal: createKeySeal(secrets) }),
    logger,
  );
  polled.watch(pools);
  const clock = startClock(pools, logger);
  const metrics = createMetrics({ pools, logger });
  const egress = createEgress({
    allowPrivate: config.webhooks.allowPrivate,
    httpsOnly: config.production,
    onLookup: (result) => metrics.dnsLookups.inc({ result }),
  });
  const signer = createSigner(config.signingKeys);
  const links = createSignedLinks(config.publicUrl, signer);
  const untrusted = createUntrustedWork();
  const { codecKeys } = config.temporal;
  const announcements = listenToAnnouncements(config.database.listenUrl);
  const presence = createPresenceBoard(config.database.listenUrl, secrets);
  const storage = await createStorage(config.storage, (operation) =>
    metrics.storageFailures.inc({ operation }),
  );
  const carriers = createCarriers({
    testSends: testSends(pools),
    simulator: config.simulator,
    twilioServer: config.twilioServer,
    mailServers: config.mailServers,
    twilioAccount: config.twilioAccount,
    guard: egress.guard,
    untrusted,
  });
  const sessions = createSessionVerifier({ ...sessionOptions(config), localKeys: localKeysOf(config) });
  const provider = identityProvider(config, metrics);
  const chats = createChats(config, signer);
  const parts = watchParts(
    {
      ...outsideParts(config, { storage, carriers, chats }),
      identityProvider:
        provider === null && config.auth.jwksUrl === null
          ? null
          : {
              title: 'the identity provider',
              check: () => Promise.all([provider?.check(), sessions.checkKeys()]),
            },
    },
    { registry: metrics.registry, logger },
  );
  const required = requiredChecks({ pools, temporal, secrets, signer });
  observeReadiness(required, metrics.registry);
  const services: Services = {
    config,
    logger,
    pools,
    waker,
    taskQueues: createTaskQueues(temporal.connection, config.temporal.namespace),
    egress,
    metrics,
    untrusted,
    temporal,
    payloadCodec: codecKeys === null ? null : createPayloadCodec(codecKeys, { showsPlain: true }),
    sessions,
    identityProvider: provider,
    callers: createCallerCache(config.database.listenUrl),
    waitingMessages: createWaitingMessages(
      (workspaceId) =>
        withTenantReads(pools, workspaceId, (db) => countUsed(db, workspaceId, 'waitingMessages')),
      logger,
    ),
    requestLog: createRequestLog(
      (rows) => insertRequests(systemDb(pools), rows),
      logger,
      metrics.unloggedRequests,
    ),
    refusedRequests: createRefusedRequests(pools, logger),
    secrets,
    signer,
    storage,
    required,
    parts,
    links,
    carriers,
    payments: createPayments(config),
    chats,
    crms: createCrms(config),
    intake: createDripIntake(pools, links, metrics),
    receipts: createReceipts(pools),
    presence,
    streams: createEventStreams({ pools, announcements, presence, logger, openStreams: metrics.openStreams }),
    rateLimits: createRateLimits(config.database.systemUrl, config.failedAttemptsPerMinute, logger),
  };
  return {
    services,
    async close() {
      untrusted.close();
      await waker.close();
      await Promise.all([
        egress.close(),
        carriers.close(),
        temporal.connection.close(),
        services.callers.close(),
        presence.close(),
        announcements.close(),
        services.rateLimits.close(),
      ]);
      await services.requestLog.close();
      polled.close();
      await clock.stop();
      await pools.close();
    },
  };
}

function identityProvider(
  { auth, publicUrl }: Config,
  { identityProviderCalls }: Metrics,
): IdentityProvider | null {
  if (!auth.client) return null;
  const { id: clientId, secret: clientSecret } = auth.client;
  return createIdentityProvider({
    issuer: auth.issuer,
    clientId,
    clientSecret,
    redirectUri: publicUrl + CALLBACK_PATH,
    signedOutUri: `${publicUrl}/console`,
    scopes: auth.scopes,
    placeClaims: [auth.claimRules.organizationClaim, auth.claimRules.rolesClaim].filter(
      (name) => name !== null,
    ),
    caFile: auth.caFile,
    onCall: (outcome) => identityProviderCalls.inc({ outcome }),
  });
}

const sessionOptions = ({ auth }: Config) => ({
  jwksUrl: auth.jwksUrl,
  issuer: auth.issuer,
  audience: auth.audience,
  authorizedParties: auth.authorizedParties,
  claimRules: auth.claimRules,
  caFile: auth.caFile,
});

if (import.meta.main) {
  const config = readConfig(process.env, { reader: 'API', whyUnreadable });
  const stopTracing = await startTracing('api', config.traces, recordMessageTraces);
  const api = await startApi(config);
  exitWithParent(() => api.stop().then(stopTracing));
  announceReady();
}
