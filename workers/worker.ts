import { Runtime, type WorkflowBundleOption } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { ProcessDependencies } from '#activities/dependencies.ts';
import { createActivities } from '#activities/index.ts';
import { countChanges } from '#activities/analytics/count-changes.ts';
import { createRoundPoller, type Rounds } from '#activities/base/round-poller.ts';
import { createRoundClaims } from '#activities/base/round-claims.ts';
import { crmRounds } from '#activities/crm/crm.ts';
import { webhookRounds } from '#activities/events/webhooks.ts';
import { inboxRounds } from '#activities/lines/line-inboxes.ts';
import { drainRounds } from '#activities/messages/drip.ts';
import { createGapWaits } from '#activities/sending/gap-waits.ts';
import { recordMessageTraces } from '#db/connection/message-traces.ts';
import { realTime } from '#domain/base/clock.ts';
import { type Config, readConfig } from '#domain/base/config.ts';
import { announceReady, exitWithParent } from '#providers/lifecycle.ts';
import { createLogger } from '#providers/log.ts';
import { whyUnreadable } from '#providers/named-files.ts';
import { createTaskQueues } from '#providers/task-queues.ts';
import { startTracing } from '#providers/tracing.ts';
import { createWorkerDeployment } from '#providers/worker-deployment.ts';
import {
  carrierQueue,
  MAIL_QUEUE,
  MAIN_QUEUE,
  QUEUES,
  WEBHOOK_QUEUE,
} from '#workflows/protocol/task-queues.ts';
import { type BuildRouting, watchBuildRouting } from './build-routing.ts';
import { failuresWithoutData } from './failures.ts';
import { createShare } from './fair-share.ts';
import { awaitKeys, hasKeys } from './key-wait.ts';
import { openDependencies } from './open-dependencies.ts';
import { keepPolledRun, processName } from './polled-run.ts';
import { type ServedQueue, servedQueues } from './queues.ts';
import { RAMP_PERCENT, releaseBuild } from './release-build.ts';
import { startAllIfNew, sweepAfterStart, upsertSchedules } from './schedules.ts';
import { createSdkMetrics } from './sdk-metrics.ts';
import { ensureSearchAttributes } from './search-attributes.ts';
import { setsAside } from './set-aside.ts';
import { startStatusServer } from './status-server.ts';
import { observeTaskQueues } from './task-queue-metrics.ts';
import { createTaskWorkers, type SharedQueue } from './task-workers.ts';
import { comparesTemporalClock } from './temporal-clock.ts';
import { connectWorkers } from './temporal-connection.ts';
import { temporalLogger } from './temporal-log.ts';

export interface RunningWorker {
  stop(): Promise<void>;
  /** Settles when the worker has stopped or failed. */
  ended: Promise<void>;
}

/** Inboxes that a process reads at once. Those of one workspace have half of that. */
const INBOXES_AT_ONCE = 128;

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
  const { dependencies, metrics, parts, ffmpeg, close } = await openDependencies(config, logger);
  const { pools, carriers, temporal } = dependencies;
  const { namespace } = config.temporal;
  observeTaskQueues(
    createTaskQueues(temporal.connection, namespace),
    [...Object.values(QUEUES), ...carriers.names.map(carrierQueue)],
    metrics.registry,
    logger,
  );
  const name = processName();
  const queues = servedQueues(config.worker, carriers.names).map((queue) => ({
    ...queue,
    share: createShare(queue.slots),
  }));
  const runsWorkflows = queues.some((queue) => queue.runsWorkflows);
  const isServing = (): boolean => routing.isReady();
  const rounds = createRounds(dependencies, queues, isServing, logger);
  const connection = await connectWorkers(config.temporal, logger);
  await ensureSearchAttributes(temporal.connection, namespace, logger);
  const workers = createTaskWorkers(queues, connection, {
    name,
    temporal: config.temporal,
    bundle,
    activities: createActivities({ ...dependencies, ...rounds }),
    interceptors: {
      comparesClocks: comparesTemporalClock(metrics.registry, realTime),
      failures: failuresWithoutData(logger),
      apart: setsAside(pools, logger),
    },
  });
  const routing = watchRouting(config, dependencies, metrics.onBuildServed, logger);
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
            isPolling: workers.isPolling,
            keys: dependencies,
            logger,
          },
        );

  let polledRun: ReturnType<typeof keepPolledRun> | null = null;
  const ending = Promise.withResolvers<void>();
  // `ended` reports the error of a worker that fails before it is returned.
  ending.promise.catch(() => {});
  const startWorkflows = async (): Promise<void> => {
    if (runsWorkflows) await startUnprompted(dependencies);
  };
  async function poll(): Promise<void> {
    await workers.start(ending);
    polledRun = keepPolledRun(
      temporal,
      name,
      rounds.roundPoller,
      { isServing, afterLoss: startWorkflows },
      logger,
    );
    await startWorkflows();
    logger.info({ queues: queues.map(({ taskQueue }) => taskQueue), ffmpeg }, 'the worker polls');
  }
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
      rounds.gapWaits.close();
      await beginning;
      await polledRun?.stop();
      workers.shutdown();
      await ended;
    },
  };
}

/** What activities share with the rounds that the process takes itself. @param isServing whether it may take any now. */
function createRounds(
  dependencies: ProcessDependencies,
  queues: readonly SharedQueue[],
  isServing: () => boolean,
  logger: Logger,
) {
  const { pools, carriers } = dependencies;
  const slots = new Map(queues.map(({ taskQueue, share }) => [taskQueue, share]));
  const roundClaims = createRoundClaims(pools, logger);
  const runsWorkflows = queues.some((queue) => queue.runsWorkflows);
  const roundPoller = createRoundPoller({ ...dependencies, roundClaims }, roundsOf(dependencies, queues), {
    carriers: carriers.names.filter((carrier) => slots.has(carrierQueue(carrier))),
    isServing,
    background: async (canceled) => (runsWorkflows ? countChanges(pools, logger, canceled) : undefined),
  });
  return { gapWaits: createGapWaits({ pools, slots, logger }), roundClaims, roundPoller };
}

/** Watches whether the build of this process gets tasks, and releases it if the process is to do so. */
function watchRouting(
  { temporal: { namespace, buildId, codecKeys, autoRelease } }: Config,
  { pools, temporal }: ProcessDependencies,
  onServed: (isServed: boolean) => void,
  logger: Logger,
): BuildRouting {
  const release =
    autoRelease &&
    ((build: string) =>
      releaseBuild({ client: temporal, namespace, pools, codecKeys }, build, {
        percent: RAMP_PERCENT,
        seconds: autoRelease.watchSeconds,
        replays: true,
      }));
  const deployment = createWorkerDeployment(temporal.connection, namespace);
  return watchBuildRouting(deployment, buildId, logger, release, onServed);
}

/** Starts what no change of a table starts. */
async function startUnprompted({ temporal, pools, logger }: ProcessDependencies): Promise<void> {
  await upsertSchedules(temporal);
  await startAllIfNew(temporal, pools, logger).catch((error: unknown) =>
    logger.warn({ error }, 'the namespace of Temporal cannot be described'),
  );
  await sweepAfterStart(temporal);
}

/** The kinds of rounds that the process takes itself: those whose activities it runs. */
function roundsOf(dependencies: ProcessDependencies, queues: readonly ServedQueue[]): Record<string, Rounds> {
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
