import { Worker, type WorkerOptions, type WorkflowBundleOption } from '@temporalio/worker';
import { dataConverter } from '#providers/payload-codec.ts';
import { DEPLOYMENT } from '#providers/worker-deployment.ts';
import type { Config } from '#domain/base/config.ts';
import { processQueue } from '#workflows/protocol/task-queues.ts';
import { activitySpans } from './activity-spans.ts';
import { fairShare, type Share } from './fair-share.ts';
import type { ServedQueue } from './queues.ts';
import type { WorkerConnection } from './temporal-connection.ts';
import { bundleWorkflows } from './workflow-bundle.ts';
import { workspaceTime } from './workspace-time.ts';

/** How long a stopping worker waits for running activities. What then ignores its cancellation ends with the process (`exitWithParent`). */
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

export type SharedQueue = ServedQueue & { share: Share };
type ActivityInterceptor = NonNullable<NonNullable<WorkerOptions['interceptors']>['activity']>[number];

interface TaskWorkersOptions {
  /** The name of the process in Temporal. */
  name: string;
  temporal: Config['temporal'];
  /** undefined: it is made when the workers start. */
  bundle: WorkflowBundleOption | undefined;
  activities: object;
  interceptors: Record<'comparesClocks' | 'failures' | 'apart', ActivityInterceptor>;
}

/** Temporal's workers in this process: one for each task queue, and one for the queue of the process. */
export interface TaskWorkers {
  /** Lets them poll. @param ending is settled when they have ended. */
  start(ending: PromiseWithResolvers<void>): Promise<void>;
  /** Whether all of them poll. */
  isPolling(): boolean;
  /** Takes no more tasks; running activities may end. */
  shutdown(): void;
}

export function createTaskWorkers(
  queues: readonly SharedQueue[],
  connection: WorkerConnection,
  options: TaskWorkersOptions,
): TaskWorkers {
  let workers: Worker[] = [];
  return {
    async start(ending) {
      workers = await createWorkers(queues, connection, options);
      connection.follow(workers);
      Promise.all(workers.map((worker) => worker.run())).then(() => ending.resolve(), ending.reject);
    },
    isPolling: () => workers.length > 0 && workers.every((worker) => worker.getState() === 'RUNNING'),
    shutdown() {
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    },
  };
}

async function createWorkers(
  queues: readonly SharedQueue[],
  { native }: WorkerConnection,
  { name, temporal, bundle, activities, interceptors }: TaskWorkersOptions,
): Promise<Worker[]> {
  const { namespace, buildId, codecKeys, maxCachedWorkflows } = temporal;
  const { comparesClocks, failures, apart } = interceptors;
  const shared = {
    connection: native,
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
