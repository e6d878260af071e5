import type { Logger } from 'pino';
import { listenToAnnouncements } from '#db/connection/announcements.ts';
import { startClock } from '#db/connection/clock.ts';
import { createApiPools } from '#db/connection/pools.ts';
import { postgresAt } from '#db/connection/postgres-at.ts';
import { systemDb, withTenantReads } from '#db/connection/transactions.ts';
import { countUsed } from '#db/queries/accounts/limits.ts';
import { insertRequests } from '#db/queries/accounts/request-log.ts';
import { createPolledKinds } from '#db/queries/operations/polled-kinds.ts';
import { testSends } from '#db/queries/test-mode/test-sends.ts';
import type { Config } from '#domain/base/config.ts';
import { createCarriers } from '#providers/carriers/registry.ts';
import { createChats } from '#providers/chats/registry.ts';
import { connectTo } from '#providers/connect-to.ts';
import { createCrms } from '#providers/crms/registry.ts';
import { createEgress } from '#providers/egress.ts';
import { createIdentityProvider, type IdentityProvider } from '#providers/identity-provider.ts';
import { createKeySeal } from '#providers/key-seal.ts';
import { outsideParts } from '#providers/outside-parts.ts';
import { watchParts } from '#providers/parts.ts';
import { createPayloadCodec } from '#providers/payload-codec.ts';
import { createPayments } from '#providers/payments/provider.ts';
import { observeReadiness } from '#providers/readiness.ts';
import { createSecretBox } from '#providers/secret-box.ts';
import { createSigner } from '#providers/signer.ts';
import { createSignedLinks } from '#providers/storage/signed-link.ts';
import { createStorage } from '#providers/storage/storage.ts';
import { createTaskQueues } from '#providers/task-queues.ts';
import { createTemporalClient, createWaker } from '#providers/temporal.ts';
import { createUntrustedWork } from '#providers/untrusted/processes.ts';
import { createCallerCache } from './auth/caller-cache.ts';
import { localKeysOf } from './auth/local-issuer.ts';
import { createSessionVerifier } from './auth/session-token.ts';
import { createMetrics, type Metrics } from './http/metrics.ts';
import { createRateLimits } from './http/rate-limits.ts';
import { requiredChecks } from './http/required.ts';
import { createRefusedRequests } from './routes/accounts/refused-requests.ts';
import { createRequestLog } from './routes/accounts/request-log.ts';
import { CALLBACK_PATH } from './routes/accounts/sign-in.ts';
import { createEventStreams } from './routes/events/stream/event-streams.ts';
import { createPresenceBoard } from './routes/inbox/presence.ts';
import { createDripIntake } from './routes/messages/drip-intake.ts';
import { createReceipts } from './routes/messages/receipts.ts';
import { createWaitingMessages } from './routes/messages/waiting-messages.ts';
import type { Services } from './services.ts';

/** Some of the services, and how they end. */
type Opened<Name extends keyof Services> = Pick<Services, Name> & { close(): Promise<unknown> };

/** What every part needs. */
type Base = Pick<Services, 'config' | 'logger' | 'pools' | 'secrets' | 'signer' | 'metrics'>;

/** Opens what the routes use. Nothing of it may be used after `close`. `workers/open-dependencies.ts` does the same for activities. */
export async function openServices(
  config: Config,
  logger: Logger,
): Promise<{ services: Services; close(): Promise<void> }> {
  const { close: closeConnections, ...connections } = await openConnections(config, logger);
  const { pools } = connections;
  const metrics = createMetrics({ pools, logger });
  const signer = createSigner(config.signingKeys);
  const base = { config, logger, metrics, signer, ...connections };
  const { close: closeProviders, ...providers } = await openProviders(base);
  const { close: closeState, ...state } = openState(base);
  const required = requiredChecks(base);
  observeReadiness(required, metrics.registry);
  const links = createSignedLinks(config.publicUrl, signer);
  const intake = createDripIntake(pools, links, metrics);
  const receipts = createReceipts(pools);
  return {
    services: { ...base, ...providers, ...state, required, links, intake, receipts },
    async close() {
      await Promise.all([closeProviders(), closeState()]);
      await closeConnections();
    },
  };
}

/** Opens the connections to PostgreSQL and Temporal. */
async function openConnections(
  config: Config,
  logger: Logger,
): Promise<Opened<'temporal' | 'payloadCodec' | 'taskQueues' | 'waker' | 'secrets' | 'pools'>> {
  const { database, databasePoolSize } = config;
  const { codecKeys, namespace } = config.temporal;
  const temporal = createTemporalClient(config.temporal);
  const polledKinds = createPolledKinds();
  const waker = createWaker(temporal, logger, polledKinds);
  const secrets = createSecretBox(config.encryptionKeys);
  const keySeal = createKeySeal(secrets);
  const pools = await connectTo(
    postgresAt(database.systemUrl),
    () => createApiPools(database, databasePoolSize, { waker, keySeal }),
    logger,
  );
  polledKinds.watch(pools);
  const clock = startClock(pools, logger);
  return {
    temporal,
    payloadCodec: codecKeys === null ? null : createPayloadCodec(codecKeys, { showsPlain: true }),
    taskQueues: createTaskQueues(temporal.connection, namespace),
    waker,
    secrets,
    pools,
    async close() {
      await waker.close();
      await temporal.connection.close();
      polledKinds.close();
      await clock.stop();
      await pools.close();
    },
  };
}

type Providers =
  | 'egress'
  | 'untrusted'
  | 'storage'
  | 'carriers'
  | 'payments'
  | 'chats'
  | 'crms'
  | 'identityProvider'
  | 'sessions'
  | 'parts';

/** Opens what the product reaches outside of itself, and watches it. */
async function openProviders({ config, logger, pools, signer, metrics }: Base): Promise<Opened<Providers>> {
  const egress = createEgress({
    allowPrivate: config.webhooks.allowPrivate,
    httpsOnly: config.production,
    onLookup: (result) => metrics.dnsLookups.inc({ result }),
  });
  const untrusted = createUntrustedWork();
  const storage = await createStorage(config.storage, (operation) =>
    metrics.storageFailures.inc({ operation }),
  );
  const carriers = createCarriers({
    ...config,
    testSends: testSends(pools),
    guard: egress.guard,
    untrusted,
  });
  const chats = createChats(config, signer);
  const { provider: identityProvider, sessions, part } = openSignIn(config, metrics);
  const parts = watchParts(
    { ...outsideParts(config, { storage, carriers, chats }), identityProvider: part },
    { registry: metrics.registry, logger },
  );
  return {
    egress,
    untrusted,
    storage,
    carriers,
    payments: createPayments(config),
    chats,
    crms: createCrms(config),
    identityProvider,
    sessions,
    parts,
    async close() {
      untrusted.close();
      await Promise.all([egress.close(), carriers.close()]);
    },
  };
}

/** Who signs users in: the identity provider, if one is configured, and what verifies its tokens. */
function openSignIn(config: Config, metrics: Metrics) {
  const { auth } = config;
  const sessions = createSessionVerifier({
    jwksUrl: auth.jwksUrl,
    issuer: auth.issuer,
    audience: auth.audience,
    authorizedParties: auth.authorizedParties,
    claimRules: auth.claimRules,
    caFile: auth.caFile,
    localKeys: localKeysOf(config),
  });
  const provider = identityProvider(config, metrics);
  const part =
    provider === null && auth.jwksUrl === null
      ? null
      : {
          title: 'the identity provider',
          check: () => Promise.all([provider?.check(), sessions.checkKeys()]),
        };
  return { provider, sessions, part };
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

type State =
  | 'callers'
  | 'waitingMessages'
  | 'requestLog'
  | 'refusedRequests'
  | 'rateLimits'
  | 'presence'
  | 'streams';

/** Opens what the process keeps about callers and their connections. */
function openState({ config, logger, pools, secrets, metrics }: Base): Opened<State> {
  const { listenUrl, systemUrl } = config.database;
  const announcements = listenToAnnouncements(listenUrl);
  const presence = createPresenceBoard(listenUrl, secrets);
  const callers = createCallerCache(listenUrl);
  const rateLimits = createRateLimits(systemUrl, config.failedAttemptsPerMinute, logger);
  const requestLog = createRequestLog(
    (rows) => insertRequests(systemDb(pools), rows),
    logger,
    metrics.unloggedRequests,
  );
  const countWaiting = (workspaceId: string) =>
    withTenantReads(pools, workspaceId, (db) => countUsed(db, workspaceId, 'waitingMessages'));
  return {
    callers,
    waitingMessages: createWaitingMessages(countWaiting, logger),
    requestLog,
    refusedRequests: createRefusedRequests(pools, logger),
    rateLimits,
    presence,
    streams: createEventStreams({ pools, announcements, presence, logger, openStreams: metrics.openStreams }),
    close: () =>
      Promise.all([
        callers.close(),
        presence.close(),
        announcements.close(),
        rateLimits.close(),
        requestLog.close(),
      ]),
  };
}
