import type { Client } from '@temporalio/client';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { createWorkerDeployment } from '#providers/worker-deployment.ts';
import { Refused } from './ops-command.ts';
import { replaySample } from './ops-replay.ts';
import { type Failing, failingNow, watchFailures } from './release-gate.ts';

const IDENTITY = 'npm run ops -- release';

/** How many open workflows of each type are replayed before. */
const REPLAYED_OF_EACH = 20;

/** What a release needs. */
export interface ReleaseSession {
  client: Client;
  namespace: string;
  pools: Pools;
  codecKeys: string | null;
}

export interface ReleaseSteps {
  percent: number;
  /** How long the build is watched with a share of the workflows, and then with all. */
  seconds: number;
  replays: boolean;
}

export const RAMP_PERCENT = 5;

/**
 * Makes a build current, first for a share of the workflows. If workflow tasks begin to fail, the former build is current again.
 * @throws Refused if nothing, or nothing in the end, was changed.
 */
export async function releaseBuild(
  session: ReleaseSession,
  build: string,
  { percent, seconds, replays }: ReleaseSteps,
) {
  const { client, namespace, pools } = session;
  const deployment = createWorkerDeployment(client.connection, namespace);
  const before = await deployment.routing();
  if (!before?.builds.has(build)) throw unknownBuild(build);
  if (before.current !== build) {
    if (replays && before.current !== null) await replaySample(session, REPLAYED_OF_EACH);
    const at = { client, db: systemDb(pools) };
    const known = new Set((await failingNow(client, at.db)).map(({ workflowId }) => workflowId));
    // Without a current build there is nothing to ramp from: its workflows wait.
    if (before.current !== null && percent > 0) {
      await deployment.setRamping(build, percent, { identity: IDENTITY, basedOn: before });
      const failing = await watchFailures(at, known, seconds);
      const { ramping, current } = (await deployment.routing()) ?? {};
      if (ramping?.build !== build || current !== before.current)
        throw new Refused(
          'INVALID_STATE',
          'Somebody changed the current or the ramping build in the meantime; nothing else was changed',
          [{ current, ramping }],
        );
      if (failing.length > 0) {
        await deployment.setRamping(null, 0, { identity: IDENTITY, basedOn: null });
        throw failed(build, before.current, failing);
      }
    }
    await deployment.setCurrent(build, { identity: IDENTITY, basedOn: null });
    if (before.current !== null) {
      const failing = await watchFailures(at, known, seconds);
      if (failing.length > 0 && (await deployment.routing())?.current === build) {
        await deployment.setCurrent(before.current, { identity: IDENTITY, basedOn: null });
        throw failed(build, before.current, failing);
      }
    }
  }
  const after = await deployment.routing();
  const others = [...(after?.builds ?? [])].filter(([other]) => other !== build);
  return {
    current: after?.current ?? null,
    former: before.current === build ? null : before.current,
    drainage: Object.fromEntries(others.map(([other, drainage]) => [other, drainage ?? 'unknown'])),
  };
}

/** More would not help to find the cause. */
const FAILURES_SHOWN = 20;

const failed = (build: string, former: string, failing: readonly Failing[]): Refused =>
  new Refused(
    'INCOMPATIBLE',
    `Workflow tasks fail since workers of the build ${build} got some; the build ${former} is current again`,
    failing.slice(0, FAILURES_SHOWN),
  );

export const unknownBuild = (build: string): Refused =>
  new Refused(
    'NOT_FOUND',
    `No worker of the build ${build} has polled: start workers with WORKER_BUILD_ID=${build} first`,
  );
