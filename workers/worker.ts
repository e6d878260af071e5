import { setTimeout as pause } from 'node:timers/promises';
import { Runtime, Worker, type WorkflowBundleOption, type WorkerOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createActivities } from '#activities/index.ts';
import { crmRounds } from '#activities/crm/crm.ts';
import { drainRounds } from '#activities/messages/drip.ts';
import { createGapWaits } from '#activities/sending/gap-waits.ts';
import { inboxRounds } from '#activities/lines/line-inboxes.ts';
import { countChanges } from '#activities/analytics/count-changes.ts';
import { createPolling, type Rounds } from '#activities/base/polled-rounds.ts';
import { createRoundClaims } from '#activities/base/round-claims.ts';
import { webhookRounds } from '#activities/events/webhooks.ts';
import { checkKeys, type ProcessKeys } from '#db/connection/key-check.ts';
import { recordMessageTraces } from '#db/connection/message-traces.ts';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { type Config, readConfig } from '#domain/base/config.ts';
import { realTime } from '#domain/base/clock.ts';
import { createLogger } from '#providers/log.ts';
import { whyUnreadable } from '#providers/named-files.ts';
import { announceReady, exitWithParent } from '#providers/lifecycle.ts';
import { dataConverter } from '#providers/payload-codec.ts';
import { createTaskQueues } from '#providers/task-queues.ts';
import { startTracing } from '#providers/tracing.ts';
import { createWorkerDeployment, DEPLOYMENT } from '#providers/worker-deployment.ts';
import {
  carrierQueue,
  MAIL_QUEUE,
  MAIN_QUEUE,
  processQueue,
  QUEUES,
  WEBHOOK_QUEUE,
} from '#workflows/protocol/task-queues.ts';
import { activitySpans } from './activity-spans.ts';
import { watchBuildRouting } from './build-routing.ts';
import { failuresWithoutData } from './failures.ts';
import { createShare, fairShare } from './fair-share.ts';
import { keepPolledRun, processName } from './polled-run.ts';
import { type ServedQueue, servedQueues } from './queues.ts';
import { RAMP_PERCENT, releaseBuild } from './release-build.ts';
import { openResources, type Resources } from './resources.ts';
import { startAllIfNew, sweepAfterStart, upsertSchedules } from './schedules.ts';
import { setsAside } from './set-aside.ts';
import { createSdkMetrics } from './sdk-metrics.ts';
import { ensureSearchAttributes } from './search-attributes.ts';
import { startStatusServer } from './status-server.ts';
import { observeTaskQueues } from './task-queue-metrics.ts';
import { comparesTemporalClock } from './temporal-clock.ts';
import { connectWorkers } from './temporal-connection.ts';
import { temporalLogger } from './temporal-log.ts';
import { bundleWorkflows } from './workflow-bundle.ts';
import { workspaceTime } from './workspace-time.ts';

export interface RunningWorker {
  stop(): Promise<void>;
  /** Settles when the worker has stopped or failed. */
  ended: Promise<void>;
}

/** Inboxes that a process reads at once. Those of one workspace have half of that. */
const INBOXES_AT_ONCE = 128;
/** How long a stopping worker waits for running activities. */
const GRACE = '10s';

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
  const { dependencies, metrics, parts, ffmpeg, close } = await openResources(config, logger);
  const { pools, carriers, temporal } = dependencies;
  const { namespace, buildId, codecKeys, autoRelease } = config.temporal;
  observeTaskQueues(
    createTaskQueues(temporal.connection, namespace),
    [...Object.values(QUEUES), ...carriers.names.map(carrierQueue)],
    metrics.registry,
    logger,
  );
  const comparesClocks = comparesTemporalClock(metrics.registry, realTime);
  const queues = servedQueues(config.worker, carriers.names).map((queue) => ({
    ...queue,
    share: createShare(queue.slots),
  }));
  const gapWaits = createGapWaits({
    pools,
    slots: new Map(queues.map(({ taskQueue, share }) => [taskQueue, share])),
    logger,
  });
  const runsWorkflows = queues.some((queue) => queue.runsWorkflows);
  const name = processName();
  const roundClaims = createRoundClaims(pools, logger);
  const polling = createPolling({ ...dependencies, roundClaims }, roundsOf(dependencies, queues), {
    carriers: carriers.names.filter((carrier) =>
      queues.some(({ taskQueue }) => taskQueue === carrierQueue(carrier)),
    ),
    isServing: () => routing.isReady(),
    beside: async (canceled) => (runsWorkflows ? countChanges(pools, logger, canceled) : undefined),
  });
  const connection = await connectWorkers(config.temporal, logger);
  await ensureSearchAttributes(temporal.connection, namespace, logger);
  const activities = createActivities({ ...dependencies, gapWaits, roundClaims, polling });
  const workersOf = { name, config, bundle, connection: connection.native, activities };
  const interceptors = {
    comparesClocks,
    failures: failuresWithoutData(logger),
    apart: setsAside(pools, logger),
  };
  let workers: Worker[] = [];
  let polledRun: ReturnType<typeof keepPolledRun> | null = null;
  const ending = Promise.withResolvers<void>();
  // `ended` reports the error of a worker that fails before it is returned.
  ending.promise.catch(() => {});
  /** Has Temporal run what no change of a table starts. */
  async function startWorkflows(): Promise<void> {
    if (!runsWorkflows) return;
    await upsertSchedules(temporal);
    await startAllIfNew(temporal, pools, logger).catch((error: unknown) =>
      logger.warn({ error }, 'the namespace of Temporal cannot be described'),
    );
    await sweepAfterStart(temporal);
  }
  async function poll(): Promise<void> {
    workers = await createWorkers(queues, workersOf, interceptors);
    connection.follow(workers);
    Promise.all(workers.map((worker) => worker.run())).then(() => ending.resolve(), ending.reject);
    const isServing = () => routing.isReady();
    polledRun = keepPolledRun(temporal, name, polling, { isServing, afterLoss: startWorkflows }, logger);
    await startWorkflows();
    logger.info({ queues: queues.map(({ taskQueue }) => taskQueue), ffmpeg }, 'the worker polls');
  }
  const routing = watchBuildRouting(
    createWorkerDeployment(temporal.connection, namespace),
    buildId,
    logger,
    autoRelease &&
      ((build) =>
        releaseBuild({ client: temporal, namespace, pools, codecKeys }, build, {
          percent: RAMP_PERCENT,
          seconds: autoRelease.watchSeconds,
          replays: true,
        })),
    metrics.onBuildServed,
  );
  const isPolling = () => workers.length > 0 && workers.every((worker) => worker.getState() === 'RUNNING');
  const status =
    config.metricsPort === null
      ? null
      : await startStatusServer(
          { host: config.host, port: config.metricsPort },
          {
            pools,
            temporal: temporal.connection,
            metrics,
            sdkMetrics,
            routing,
            parts,
            isPolling,
            keys: dependencies,
            logger,
          },
        );

  // A process with wrong keys takes no task: it could not carry it out, and others can.
  const stopping = new AbortController();
  const beginning = (await hasKeys(pools, dependencies, logger))
    ? await poll()
    : awaitKeys(pools, dependencies, logger, stopping.signal).then((found) =>
        found ? poll() : ending.resolve(),
      );
  if (beginning) beginning.catch(ending.reject);

  const ended = ending.promise.then(async () => {
    routing.close();
    await status?.close();
    await connection.close();
    await close();
  });
  return {
    ended,
    async stop() {
      stopping.abort();
      gapWaits.close();
      await beginning;
      await polledRun?.stop();
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await ended;
    },
  };
}

type SharedQueue = ServedQueue & { share: ReturnType<typeof createShare> };
type ActivityInterceptor = NonNullable<NonNullable<WorkerOptions['interceptors']>['activity']>[number];

/** Creates a worker for each task queue, and one for the queue of this process. None polls yet. */
async function createWorkers(
  queues: readonly SharedQueue[],
  {
    name,
    config: { temporal },
    bundle,
    connection,
    activities,
  }: {
    name: string;
    config: Config;
    bundle: WorkflowBundleOption | undefined;
    connection: NonNullable<WorkerOptions['connection']>;
    activities: object;
  },
  { comparesClocks, failures, apart }: Record<'comparesClocks' | 'failures' | 'apart', ActivityInterceptor>,
): Promise<Worker[]> {
  const { namespace, buildId, codecKeys, maxCachedWorkflows } = temporal;
  const shared = {
    connection,
    namespace,
    identity: name,
    dataConverter: dataConverter(codecKeys),
    activities,
    shutdownGraceTime: GRACE,
  } as const;
  return Promise.all([
    // Not of a build, which may have polled at most 100 task queues in its time.
    Worker.create({
      ...shared,
      taskQueue: processQueue(name),
      maxConcurrentActivityTaskExecutions: 1,
      interceptors: { activity: [failures] },
    }),
    ...queues.map(async ({ taskQueue, runsWorkflows, slots, pollers, share }) =>
      Worker.create({
        ...shared,
        ...(buildId !== null && versioned(buildId)),
        taskQueue,
        maxConcurrentActivityTaskExecutions: slots,
        maxConcurrentActivityTaskPolls: pollers,
        interceptors: {
          activity: [comparesClocks, activitySpans, fairShare(share), failures, apart, workspaceTime],
        },
        ...(runsWorkflows && {
          workflowBundle: bundle ?? (await bundleWorkflows(codecKeys)),
          maxCachedWorkflows,
        }),
      }),
    ),
  ]);
}

/** The kinds of rounds that the process takes itself: those whose activities it runs. */
function roundsOf(
  dependencies: Resources['dependencies'],
  queues: readonly ServedQueue[],
): Record<string, Rounds> {
  const slotsOf = (queue: string): number =>
    queues.reduce((slots, { taskQueue, slots: own }) => (taskQueue === queue ? own : slots), 0);
  const all = {
    'webhook-dispatcher': webhookRounds(dependencies, slotsOf(WEBHOOK_QUEUE)),
    'drip-drainer': drainRounds(dependencies, slotsOf(MAIN_QUEUE) / 2),
    'mailbox-reader': inboxRounds(dependencies, INBOXES_AT_ONCE),
    'crm-connection': crmRounds(dependencies, slotsOf(MAIL_QUEUE)),
  };
  return Object.fromEntries(Object.entries(all).filter(([, { slots }]) => slots > 0));
}

const KEYS_AGAIN_MS = 10_000;

async function hasKeys(pools: Pools, keys: ProcessKeys, logger: Logger): Promise<boolean> {
  try {
    await checkKeys(systemDb(pools), keys);
    return true;
  } catch (error) {
    logger.fatal({ error }, 'the worker takes no tasks until its keys can read what is stored');
    return false;
  }
}

/** Waits until the keys are right, which somebody may have rotated. @returns false if it was aborted before. */
async function awaitKeys(
  pools: Pools,
  keys: ProcessKeys,
  logger: Logger,
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted) {
    await pause(KEYS_AGAIN_MS, undefined, { signal }).catch(() => {});
    if (!signal.aborted && (await hasKeys(pools, keys, logger))) return true;
  }
  return false;
}

if (import.meta.main) {
  const config = readConfig(process.env, { reader: 'workers', whyUnreadable });
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
