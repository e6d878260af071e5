import type { Logger } from 'pino';
import { createPolledKinds } from '#db/queries/operations/polled-kinds.ts';
import { listenToAnnouncements } from '#db/connection/announcements.ts';
import { startClock } from '#db/connection/clock.ts';
import { postgresAt } from '#db/connection/postgres-at.ts';
import { createPools } from '#db/connection/pools.ts';
import { testSends } from '#db/queries/test-mode/test-sends.ts';
import type { ProcessDependencies } from '#activities/dependencies.ts';
import { createWebhookDeliverer } from '#activities/events/webhook-deliverer.ts';
import type { Config } from '#domain/base/config.ts';
import { findFfmpeg } from '#providers/audio/ffmpeg.ts';
import { createVoiceNoteMaker } from '#providers/audio/voice-note.ts';
import { connectTo } from '#providers/connect-to.ts';
import { createCarriers } from '#providers/carriers/registry.ts';
import { createChats } from '#providers/chats/registry.ts';
import { createCrms } from '#providers/crms/registry.ts';
import { createEgress } from '#providers/egress.ts';
import { outsideParts } from '#providers/outside-parts.ts';
import { watchParts, type WatchedParts } from '#providers/parts.ts';
import { createKeySeal } from '#providers/key-seal.ts';
import { createMailer } from '#providers/mail/mailer.ts';
import { createModel, createTestModel } from '#providers/models/registry.ts';
import { createTranscriber } from '#providers/models/transcriber.ts';
import { createPayments } from '#providers/payments/provider.ts';
import { createSecretBox } from '#providers/secret-box.ts';
import { createSigner } from '#providers/signer.ts';
import { createSignedLinks } from '#providers/storage/signed-link.ts';
import { createStorage } from '#providers/storage/storage.ts';
import { storedMedia } from '#providers/storage/stored-media.ts';
import { createTemporalClient, createWaker } from '#providers/temporal.ts';
import { createUntrustedWork } from '#providers/untrusted/processes.ts';
import { createWorkerMetrics, type WorkerMetrics } from './metrics.ts';

/** High, because many tenants use the same hosts. The limit of each tenant is per endpoint. */
const WEBHOOK_SOCKETS_PER_HOST = 4096;

export interface OpenedDependencies {
  /** What activities use, except what depends on the task queues that the process serves. */
  dependencies: ProcessDependencies;
  metrics: WorkerMetrics;
  /** The outside parts that are configured, such as the file store. */
  parts: WatchedParts;
  /** What converts audio: a command, or `WebAssembly`. */
  ffmpeg: string;
  close(): Promise<void>;
}

/** Opens what the activities of a process use: PostgreSQL, Temporal, storage and the providers. `api/open-services.ts` does the same for routes. */
export async function openDependencies(config: Config, logger: Logger): Promise<OpenedDependencies> {
  const temporal = createTemporalClient(config.temporal);
  const polledKinds = createPolledKinds();
  const waker = createWaker(temporal, logger, polledKinds);
  const secrets = createSecretBox(config.encryptionKeys);
  const pools = await connectTo(
    postgresAt(config.database.systemUrl),
    () =>
      createPools(config.database, {
        size: config.databasePoolSize * 2,
        waker,
        keySeal: createKeySeal(secrets),
      }),
    logger,
  );
  polledKinds.watch(pools);
  const announcements = listenToAnnouncements(config.database.listenUrl);
  const clock = startClock(pools, logger);
  await clock.ready;
  const metrics = createWorkerMetrics(pools, config.temporal, logger);
  const egress = createEgress({
    allowPrivate: config.webhooks.allowPrivate,
    httpsOnly: config.production,
    connectionsPerOrigin: WEBHOOK_SOCKETS_PER_HOST,
    onLookup: metrics.onLookup,
  });
  const { onDelivery, onEventDelivered, onSent, onSweep, onCarrierCall } = metrics;
  const deliverer = createWebhookDeliverer({
    pools,
    egress,
    secrets,
    logger,
    onDelivery,
    onEventDelivered,
  });
  const { smtpUrl, from } = config.mail;
  const mailer =
    smtpUrl === null ? null : createMailer({ url: smtpUrl, from, caFile: config.mailServers.caFile });
  const signer = createSigner(config.signingKeys);
  const storage = await createStorage(config.storage, metrics.onStorageFailure);
  const links = createSignedLinks(config.publicUrl, signer);
  const model = createModel(config);
  const untrusted = createUntrustedWork();
  const ffmpeg = await findFfmpeg(config.ffmpeg.path, config.ffmpeg.searchPath);
  const carriers = createCarriers({
    ...config,
    testSends: testSends(pools),
    guard: egress.guard,
    untrusted,
    fetchMedia: storedMedia(links, storage),
    onCall: onCarrierCall,
  });
  metrics.expectCallsOf(carriers.names);
  const chats = createChats(config, signer);
  const parts = watchParts(
    {
      ...outsideParts(config, { storage, carriers, chats }),
      model: model && { title: 'the language model', check: () => model.check() },
      mail: mailer && { title: 'the mail server', check: () => mailer.check() },
    },
    { registry: metrics.registry, logger },
  );
  return {
    dependencies: {
      pools,
      announcements,
      carriers,
      payments: createPayments(config),
      chats,
      crms: createCrms(config),
      egress,
      mailer,
      model,
      testModel: createTestModel(config),
      transcriber: createTranscriber(config),
      testTranscriber: config.llm.inTestMode ? createTranscriber(config) : null,
      onModelTokens: metrics.onModelTokens,
      waker,
      logger,
      temporal,
      secrets,
      deliverer,
      onSent,
      onSweep,
      signer,
      storage,
      storageQuota: config.storageQuota,
      retention: config.retention,
      links,
      makeVoiceNote: createVoiceNoteMaker(ffmpeg, untrusted),
      publicUrl: config.publicUrl,
      inboxPollSeconds: config.inboxPollSeconds,
      crmPollSeconds: config.crmPollSeconds,
    },
    metrics,
    parts,
    ffmpeg: ffmpeg.native ? ffmpeg.command[0] : 'WebAssembly',
    async close() {
      parts.stop();
      await Promise.all([waker.close(), deliverer.close()]);
      await Promise.all([egress.close(), carriers.close(), temporal.connection.close()]);
      untrusted.close();
      await mailer?.close();
      await announcements.close();
      polledKinds.close();
      await clock.stop();
      await pools.close();
    },
  };
}
