import { setTimeout as pause } from 'node:timers/promises';
import { isFailedPrecondition, isNotFound } from '#providers/grpc-status.ts';
import { createWorkerDeployment } from '#providers/worker-deployment.ts';
import { type Command, type Options, Refused, type Session, WrongUsage } from './ops-command.ts';

const RAMP_PERCENT = 5;
const WAIT_SECONDS = 60;
const IDENTITY = 'npm run ops -- release';

/**
 * Makes a build of the workers current: first for a share of the workflows, then for all. Running it again changes nothing,
 * and shows how far the previous build is drained.
 */
export const release: Command = {
  argument: 'BUILD',
  options: '[--ramp PERCENT] [--wait SECONDS]',
  summary: `workers of a build take over: ${RAMP_PERCENT} % of the workflows, after ${WAIT_SECONDS} s all`,
  timeoutMs: null,
  async run(session, build, options) {
    const percent = numberOf(options, 'ramp', RAMP_PERCENT, 99);
    const seconds = numberOf(options, 'wait', WAIT_SECONDS, 86_400);
    return refusingAsTemporal(build, () => releaseBuild(session, build, percent, seconds));
  },
};

async function releaseBuild({ client, namespace }: Session, build: string, percent: number, seconds: number) {
  const deployment = createWorkerDeployment(client.connection, namespace);
  const before = await deployment.routing();
  if (!before?.builds.has(build)) throw unknownBuild(build);
  if (before.current !== build) {
    // Without a current build there is nothing to ramp from: its workflows wait.
    if (before.current !== null && percent > 0) {
      await deployment.setRamping(build, percent, { identity: IDENTITY, basedOn: before });
      await pause(seconds * 1000);
      const { ramping, current } = (await deployment.routing()) ?? {};
      if (ramping?.build !== build || current !== before.current)
        throw new Refused(
          'INVALID_STATE',
          'Somebody changed the current or the ramping build in the meantime; nothing else was changed',
          [{ current, ramping }],
        );
    }
    await deployment.setCurrent(build, { identity: IDENTITY, basedOn: null });
  }
  const after = await deployment.routing();
  const others = [...(after?.builds ?? [])].filter(([other]) => other !== build);
  return {
    current: after?.current ?? null,
    former: before.current === build ? null : before.current,
    drainage: Object.fromEntries(others.map(([other, drainage]) => [other, drainage ?? 'unknown'])),
  };
}

function numberOf(options: Options, name: 'ramp' | 'wait', fallback: number, maximum: number): number {
  const given = options[name];
  const value = given === undefined ? fallback : Number(given);
  if (!Number.isInteger(value) || value < 0 || value > maximum)
    throw new WrongUsage(`--${name} must be a whole number from 0 to ${maximum}`);
  return value;
}

const unknownBuild = (build: string): Refused =>
  new Refused(
    'NOT_FOUND',
    `No worker of the build ${build} has polled: start workers with WORKER_BUILD_ID=${build} first`,
  );

/** Temporal refuses a build whose workers do not serve every task queue of the current one. */
async function refusingAsTemporal<T>(build: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isNotFound(error)) throw unknownBuild(build);
    if (isFailedPrecondition(error)) throw new Refused('INVALID_STATE', detailsOf(error));
    throw error;
  }
}

const detailsOf = (error: unknown): string =>
  (error as { details?: string }).details ?? (error instanceof Error ? error.message : String(error));
