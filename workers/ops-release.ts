import { RELEASE_WATCH_SECONDS } from '#domain/base/config.ts';
import { isFailedPrecondition, isNotFound } from '#providers/grpc-status.ts';
import { RAMP_PERCENT, releaseBuild, unknownBuild } from './release-build.ts';
import { type Command, type Options, Refused, WrongUsage } from './ops-command.ts';

/**
 * Makes a build of the workers current: first for a share of the workflows, then for all. It goes back by itself if workflows begin to
 * fail. Running it again changes nothing, and shows how far the previous build is drained.
 */
export const release: Command = {
  argument: 'BUILD',
  options: '[--ramp PERCENT] [--wait SECONDS] [--no-replay]',
  summary: `workers of a build take over: ${RAMP_PERCENT} % of the workflows, after ${RELEASE_WATCH_SECONDS} s all; open workflows are replayed before with the code of this installation, and the former build takes over again if workflow tasks fail within ${RELEASE_WATCH_SECONDS} s`,
  timeoutMs: null,
  async run(session, build, options) {
    const percent = numberOf(options, 'ramp', RAMP_PERCENT, 99);
    const seconds = numberOf(options, 'wait', RELEASE_WATCH_SECONDS, 86_400);
    const replays = options['no-replay'] !== true;
    return refusingAsTemporal(build, () => releaseBuild(session, build, { percent, seconds, replays }));
  },
};

function numberOf(options: Options, name: 'ramp' | 'wait', fallback: number, maximum: number): number {
  const given = options[name];
  const value = given === undefined ? fallback : Number(given);
  if (!Number.isInteger(value) || value < 0 || value > maximum)
    throw new WrongUsage(`--${name} must be a whole number from 0 to ${maximum}`);
  return value;
}

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
