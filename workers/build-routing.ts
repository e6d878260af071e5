import type { Logger } from 'pino';
import type { Routing, WorkerDeployment } from '#providers/worker-deployment.ts';
import { Refused } from './ops-command.ts';

/** Whether Temporal sends tasks to the build of this process. */
export interface BuildRouting {
  /** Whether it does, or did until a while ago, so that a rollout to another build can finish. */
  isReady(): boolean;
  close(): void;
}

const ASK_EVERY_MS = 10_000;
/** Until it gets tasks for the first time, so that a new worker is ready soon. */
const ASK_AGAIN_MS = 1000;
/** The duration of a rolling update of some dozen processes. */
const GRACE_MS = 10 * 60_000;

const IDENTITY = 'the first worker with a build id';

/**
 * Watches whether the build of this process gets tasks. The first build of a deployment that never had a current one makes
 * itself current: nobody else would, and its workers would get nothing.
 * @param build `WORKER_BUILD_ID`; null: the process has none, and gets tasks until a build is current.
 * @param releaseNew releases a build that never got tasks; null: somebody does.
 * @param onServed called regularly: whether it gets tasks, for all workflows or a share of them.
 */
export function watchBuildRouting(
  deployment: WorkerDeployment,
  build: string | null,
  logger: Logger,
  releaseNew: ((build: string) => Promise<unknown>) | null,
  onServed: (isServed: boolean) => void,
): BuildRouting {
  let isReleasing = false;
  let served: boolean | null = null;
  let servedAt = -Infinity;
  let failing = false;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    let routing = await deployment.routing();
    if (build !== null && routing?.builds.has(build) && routing.current === null && !routing.isDecided) {
      await deployment.setCurrent(build, { identity: IDENTITY, basedOn: routing });
      logger.info({ build }, 'made the first build of the worker deployment current');
      routing = await deployment.routing();
    }
    if (build !== null && releaseNew && !isReleasing && isNew(routing, build)) {
      isReleasing = true;
      // Of several processes, one begins; the others are refused.
      releaseNew(build)
        .then((released) => logger.info({ build, released }, 'released the build of this worker'))
        .catch((error: unknown) => {
          // Until the server knows all task queues of a new build, it refuses to send tasks there.
          isReleasing = error instanceof Refused && error.code !== 'NOT_FOUND';
          logger.error({ error, build }, 'the build of this worker was not released');
        });
    }
    const now = isServedBy(routing, build);
    if (now !== served) report(now, routing);
    served = now;
    onServed(now);
  }

  function report(now: boolean, routing: Routing | null): void {
    const facts = { build, current: routing?.current ?? null, ramping: routing?.ramping ?? null };
    if (now) logger.info(facts, 'Temporal sends tasks to the build of this worker');
    else logger.warn(facts, `Temporal sends no tasks to the build of this worker; ${adviceFor(build)}`);
  }

  function schedule(): void {
    if (!closed) timer = setTimeout(() => void turn(), servedAt > 0 ? ASK_EVERY_MS : ASK_AGAIN_MS);
  }

  async function turn(): Promise<void> {
    try {
      await look();
      failing = false;
    } catch (error) {
      if (!failing)
        logger.warn({ error, build }, 'which build is current could not be looked up; trying again');
      failing = true;
    }
    if (served === true) servedAt = performance.now();
    schedule();
  }
  void turn();

  return {
    isReady: () => (served ?? build === null) || performance.now() - servedAt < GRACE_MS,
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** A build that got tasks before was replaced on purpose, or has failed. */
const isNew = (routing: Routing | null, build: string): boolean =>
  routing !== null &&
  routing.current !== null &&
  routing.current !== build &&
  routing.ramping === null &&
  routing.builds.get(build) === null;

const isServedBy = (routing: Routing | null, build: string | null): boolean =>
  build === null
    ? (routing?.current ?? null) === null
    : routing?.current === build || routing?.ramping?.build === build;

const adviceFor = (build: string | null): string =>
  build === null
    ? 'start it with the WORKER_BUILD_ID of a build'
    : `to send them there: npm run ops -- release ${build}`;
