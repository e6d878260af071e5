import { currentTime } from '#domain/base/clock.ts';
import {
  linesPausedWithAll,
  markPausedWithAll,
  type NamedLine,
  unpausedLines,
} from '#db/queries/sending/line-orders.ts';
import { lockLine } from '#db/queries/lines/lines.ts';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import { type PauseAuthor, pauseOrResume, setLinePaused } from './line-pause.ts';

/**
 * Pauses every line that is not paused, each in its own transaction.
 * @param workspaceId null: the lines of all workspaces.
 * @param isMeant which lines, by their carrier.
 * @returns how many.
 */
export async function pauseAll(
  pools: Pools,
  workspaceId: string | null,
  author: PauseAuthor,
  isMeant: (carrier: string) => boolean = () => true,
): Promise<number> {
  const lines = await unpausedLines(systemDb(pools), workspaceId);
  return change(
    pools,
    true,
    author,
    lines.filter(({ carrier }) => isMeant(carrier)),
  );
}

/** Resumes the lines that were paused with all others, and not those that somebody has paused by themselves. @returns how many. */
export async function resumeAll(
  pools: Pools,
  workspaceId: string | null,
  author: PauseAuthor,
): Promise<number> {
  return change(pools, false, author, await linesPausedWithAll(systemDb(pools), workspaceId));
}

/**
 * Pauses or resumes one line, whoever paused it.
 * @param isDry changes nothing.
 * @returns whether it changes.
 */
export const pauseLine = (
  pools: Pools,
  workspaceId: string,
  lineId: string,
  isPaused: boolean,
  author: PauseAuthor,
  isDry: boolean,
): Promise<boolean> =>
  withTenant(pools, workspaceId, async (db) => {
    const line = await lockLine(db, lineId);
    if (!line || (line.pausedAt !== null) === isPaused) return false;
    if (!isDry) await pauseOrResume(db, line, isPaused, author, currentTime());
    return true;
  });

async function change(
  pools: Pools,
  isPaused: boolean,
  author: PauseAuthor,
  lines: readonly NamedLine[],
): Promise<number> {
  let changed = 0;
  for (const { workspaceId, lineId } of lines)
    await withTenant(pools, workspaceId, async (db) => {
      const line = await lockLine(db, lineId);
      // It was deleted or moved, or somebody else was faster.
      if (!line || (line.pausedAt !== null) === isPaused) return;
      await setLinePaused(db, line, isPaused, author, currentTime());
      if (isPaused) await markPausedWithAll(db, lineId);
      changed += 1;
    });
  return changed;
}
