import { useRead } from '#console/api/queries.ts';
import { useIdentity } from '#console/api/workspace.ts';
import { setAhead } from './workspace-time.ts';

const MINUTE_MS = 60_000;
/** How often the clock is read while it moves or is behind, and otherwise. */
const READ_EVERY_MS = { moving: 1000, resting: MINUTE_MS };

export interface TestClock {
  now: Date;
  /** Whether it shows the real time, to the minute. */
  isReal: boolean;
  isMoving: boolean;
}

/** The clock of the workspace in test mode, by which the console shows times; null: the workspace is live, or it is not known yet. */
export function useTestClock(): TestClock | null {
  const { workspace } = useIdentity();
  const isTest = workspace.mode === 'test';
  const { data, dataUpdatedAt } = useRead(
    'GET /api/test/clock',
    {},
    {
      enabled: isTest,
      refetchInterval: (clock) => (clock && isBehind(clock) ? READ_EVERY_MS.moving : READ_EVERY_MS.resting),
    },
  );
  const aheadMs = isTest && data ? Date.parse(data.now) - dataUpdatedAt : 0;
  // While rendering, so that what is below already sees it.
  setAhead(aheadMs);
  if (!isTest || !data) return null;
  const isReal = Math.abs(aheadMs) < MINUTE_MS;
  return { now: new Date(data.now), isReal, isMoving: isBehind(data) };
}

/** A clock that started in the past is on its way to now, between two moves as well. */
const isBehind = ({ now, movingTo }: { now: string; movingTo: string | null }): boolean =>
  movingTo !== null || Date.now() - Date.parse(now) > MINUTE_MS;
