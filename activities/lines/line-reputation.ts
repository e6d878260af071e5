import { judgeLines, linesToJudge } from '#db/commands/lines/line-reputation.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import { currentTime } from '#domain/base/clock.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import type { Dependencies } from '../dependencies.ts';
import { withHeartbeat } from '../base/heartbeat.ts';

/** Lines of one round of housekeeping; the next continues. */
const LINES_AT_ONCE = 2000;
/** Lines of a workspace that one transaction scores. */
const LINES_PER_TRANSACTION = 100;
const BUDGET_MS = 10_000;

export function createLineReputationActivities({
  pools,
  secrets,
  logger,
}: Pick<Dependencies, 'pools' | 'secrets' | 'logger'>) {
  async function judge(workspaceId: string, lineIds: readonly string[]): Promise<void> {
    try {
      await withTenant(pools, workspaceId, (db) =>
        judgeLines(db, lineIds, mailSeal(secrets, workspaceId), currentTime()),
      );
    } catch (error) {
      logger.error({ workspaceId, error }, 'the reputation of lines could not be updated');
    }
  }

  return {
    /** Scores lines that no plan has scored for an hour, so that they recover while they rest. @returns how many. */
    judgeIdleLines: (): Promise<number> =>
      withHeartbeat(async (canceled) => {
        const end = Date.now() + BUDGET_MS;
        const found = await linesToJudge(systemDb(pools), LINES_AT_ONCE);
        let judged = 0;
        for (const [workspaceId, lines] of Map.groupBy(found, (line) => line.workspaceId)) {
          const ids = lines.map(({ id }) => id);
          for (let from = 0; from < ids.length; from += LINES_PER_TRANSACTION) {
            if (canceled.aborted || Date.now() > end) return judged;
            const some = ids.slice(from, from + LINES_PER_TRANSACTION);
            await judge(workspaceId, some);
            judged += some.length;
          }
        }
        return judged;
      }),
  };
}
