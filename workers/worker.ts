import { Runtime, Worker, type WorkflowBundleOption, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from '#activities/index.ts';
import { createGapWaits } from '#activities/gap-waits.ts';
import { createWebhookDeliverer } from '#activities/webhook-deliverer.ts';
import { startClock } from '#db/clock.ts';
import { recordMessageTraces } from '#db/message-traces.ts';
import { createPools } from '#db/pools.ts';
import { testSends } from '#db/queries/test-sends.ts';
import { type Config, readConfig } from '#domain/config.ts';
import { findFfmpeg } from '#providers/audio/ffmpeg.ts';
import { createVoiceNoteMaker } from '#providers/audio/voice-note.ts';
import { createCarriers } from '#providers/carriers/registry.ts';
import { createEgress } from '#providers/egress.ts';
import { createLogger } from '#providers/log.ts';
import { createMailer } from '#providers/mail/mailer.ts';
import { createModel } from '#providers/models/registry.ts';
import { createPayments } from '#providers/payments/provider.ts';
import { createKeySeal } from '#providers/key-seal.ts';
import { createSecretBox } from '#providers/secret-box.ts';
import { createSigner } from '#providers/signer.ts';
import { createSignedLinks } from '#providers/storage/signed-link.ts';
import { createStorage } from '#providers/storage/storage.ts';
import { storedMedia } from '#providers/storage/stored-media.ts';
import { announceReady, exitWithParent } from '#providers/lifecycle.ts';
import { dataConverter } from '#providers/payload-codec.ts';
import { createTaskQueues } from '#providers/task-queues.ts';
import { createTemporalClient, createWaker } from '#providers/temporal.ts';
import { startTracing } from '#providers/tracing.ts';
import { createUntrustedWork } from '#providers/untrusted/processes.ts';
import { createWorkerDeployment, DEPLOYMENT } from '#providers/worker-deployment.ts';
import { carrierQueue, QUEUES } from '#workflows/messages/task-queues.ts';
import { activitySpans } from './activity-spans.ts';
import { watchBuildRouting } from './build-routing.ts';
import { startCounting } from './count-changes.ts';
import { failuresWithoutData } from './failures.ts';
import { createShare, fairShare } from './fair-share.ts';
import { createWorkerMetrics } from './metrics.ts';
import { servedQueues } from './queues.ts';
import { sweepAfterStart, upsertSchedules } from './schedules.ts';
import { createSdkMetrics } from './sdk-metrics.ts';
import { ensureSearchAttributes } from './search-attributes.ts';
import { startStatusServer } from './status-server.ts';
import { observeTaskQueues } from './task-queue-metrics.ts';
import { connectWorkers } from './temporal-connection.ts';
import { temporalLogger } from './temporal-log.ts';
import { bundleWorkflows } from './workflow-bundle.ts';
import { workspaceTime } from './workspace-time.ts';

export interface RunningWorker {
  stop(): Promise<void>;
  /** Settles when the worker has stopped or failed. */
  ended: Promise<void>;
}

/** How long a stopping worker waits for running activities. */
const GRACE = '10s';
/** High, because many tenants use the same hosts. The limit of each tenant is per endpoint. */
const WEBHOOK_SOCKETS_PER_HOST = 4096;

/** Options for versioned workers. Each workflow continues on the current build of the deployment. */
const versioned = (buildId: string): Pick<WorkerOptions, 'workerDeploymentOptions'> => ({
  workerDeploymentOptions: {
    useWorkerVersioning: true,
    version: { deploymentName: DEPLOYMENT, buildId },
    // Workflows run for months, so they move to new builds, which stay compatible by patches.
    defaultVersioningBehavior: 'AUTO_UPGRADE',
  },
});

/**
 * Starts the workers of a process: for all task queues, or for those in `WORKER_QUEUES`.
 * @param sdkMetrics the metrics of Temporal's SDK, which has one runtime in a process.
 */
export async function startWorker(
  config: Config,
  bundle?: WorkflowBundleOption,
  sdkMetrics: () => Promise<string> = async () => '',
): Promise<RunningWorker> {
  const logger = createLogger('worker', config.logLevel);
  const temporal = createTemporalClient(config.temporal);
  const waker = createWaker(temporal, logger);
  const secrets = createSecretBox(config.encryptionKeys);
  const pools = await createPools(config.database, {
    size: config.databasePoolSize * 2,
    waker,
    keySeal: createKeySeal(secrets),
  });
  const clock = startClock(pools, logger);
  await clock.ready;
  const egress = createEgress({
    allowPrivate: config.webhooks.allowPrivate,
    httpsOnly: config.production,
    connectionsPerOrigin: WEBHOOK_SOCKETS_PER_HOST,
  });
  const metrics = createWorkerMetrics(pools, config.temporal, logger);
  const { onDelivery, onSweep, onCarrierCall } = metrics;
  const deliverer = createWebhookDeliverer({ pools, egress, secrets, logger, onDelivery });
  const mailer =
    config.mail.smtpUrl === null ? null : createMailer({ url: config.mail.smtpUrl, from: config.mail.from });
  const signer = createSigner(config.signingKeys);
  const storage = await createStorage(config.storage);
  const links = createSignedLinks(config.publicUrl, signer);
  const untrusted = createUntrustedWork();
  const ffmpeg = await findFfmpeg(config.ffmpeg.path, config.ffmpeg.searchPath);
  const carriers = createCarriers({
    testSends: testSends(pools),
    simulator: config.simulator,
    twilioUrl: config.twilioUrl,
    guard: egress.guard,
    untrusted,
    fetchMedia: storedMedia(links, storage),
    onCall: onCarrierCall,
  });
  observeTaskQueues(
    createTaskQueues(temporal.connection, config.temporal.namespace),
    [...Object.values(QUEUES), ...carriers.names.map(carrierQueue)],
    metrics.registry,
    logger,
  );
  const queues = servedQueues(config.worker, carriers.names).map((queue) => ({
    ...queue,
    share: createShare(queue.slots),
  }));
  const gapWaits = createGapWaits({
    pools,
    slots: new Map(queues.map(({ taskQueue, share }) => [taskQueue, share])),
    logger,
  });
  const connection = await connectWorkers(config.temporal, logger);
  await ensureSearchAttributes(temporal.connection, config.temporal.namespace, logger);
  const activities = createActivities({
    pools,
    carriers,
    payments: createPayments(config),
    egress,
    mailer,
    model: createModel(config),
    waker,
    gapWaits,
    logger,
    temporal,
    secrets,
    deliverer,
    onSweep,
    signer,
    storage,
    storageQuota: config.storageQuota,
    retention: config.retention,
    links,
    makeVoiceNote: createVoiceNoteMaker(ffmpeg, untrusted),
    publicUrl: config.publicUrl,
    inboxPollSeconds: config.inboxPollSeconds,
  });
  const failures = failuresWithoutData(logger);
  const { codecKeys } = config.temporal;
  const shared = {
    connection: connection.native,
    namespace: config.temporal.namespace,
    dataConverter: dataConverter(codecKeys),
    activities,
    shutdownGraceTime: GRACE,
    ...(config.temporal.buildId !== null && versioned(config.temporal.buildId)),
  } as const;
  const workers = await Promise.all(
    queues.map(async ({ taskQueue, runsWorkflows, slots, pollers, share }) =>
      Worker.create({
        ...shared,
        taskQueue,
        maxConcurrentActivityTaskExecutions: slots,
        maxConcurrentActivityTaskPolls: pollers,
        interceptors: { activity: [activitySpans, fairShare(share), failures, workspaceTime] },
        ...(runsWorkflows && {
          workflowBundle: bundle ?? (await bundleWorkflows(codecKeys)),
          maxCachedWorkflows: config.temporal.maxCachedWorkflows,
        }),
      }),
    ),
  );
  connection.follow(workers);
  const runs = Promise.all(workers.map((worker) => worker.run()));
  const runsWorkflows = queues.some((queue) => queue.runsWorkflows);
  if (runsWorkflows) {
    await upsertSchedules(temporal);
    await sweepAfterStart(temporal);
  }
  const counting = runsWorkflows ? startCounting(pools, logger) : null;
  const { namespace, buildId } = config.temporal;
  const routing = watchBuildRouting(
    createWorkerDeployment(temporal.connection, namespace),
    buildId,
    logger,
    metrics.onBuildServed,
  );
  logger.info(
    {
      queues: queues.map(({ taskQueue }) => taskQueue),
      ffmpeg: ffmpeg.native ? ffmpeg.command[0] : 'WebAssembly',
    },
    'the worker polls',
  );

  const { host, metricsPort } = config;
  const status =
    metricsPort === null
      ? null
      : await startStatusServer(
          { host, port: metricsPort },
          {
            pools,
            temporal: temporal.connection,
            metrics,
            sdkMetrics,
            routing,
            isPolling: () => workers.every((worker) => worker.getState() === 'RUNNING'),
            logger,
          },
        );

  const ended = runs.then(async () => {
    routing.close();
    await Promise.all([counting?.stop(), status?.close()]);
    await Promise.all([waker.close(), deliverer.close()]);
    await Promise.all([egress.close(), carriers.close(), temporal.connection.close()]);
    untrusted.close();
    await mailer?.close();
    await connection.close();
    await clock.stop();
    await pools.close();
  });
  return {
    ended,
    async stop() {
      gapWaits.close();
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await ended;
    },
  };
}

if (import.meta.main) {
  const config = readConfig(process.env);
  const sdkMetrics = config.metricsPort === null ? null : await createSdkMetrics();
  Runtime.install({
    // `exitWithParent` handles them. Until then they end the process: the SDK would catch them and continue to start.
    shutdownSignals: [],
    logger: temporalLogger(createLogger('temporal', config.logLevel)),
    ...(sdkMetrics && { telemetryOptions: sdkMetrics.telemetry }),
  });
  const stopTracing = await startTracing('worker', config.traces, recordMessageTraces);
  const worker = await startWorker(config, undefined, sdkMetrics?.read);
  exitWithParent(() => worker.stop().then(stopTracing));
  announceReady();
  await worker.ended;
}
