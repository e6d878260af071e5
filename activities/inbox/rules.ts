import { runRule } from '#db/commands/inbox/rules.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { dueRuleRuns, nextRuleRunAt } from '#db/queries/inbox/rule-runs.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { currentTime } from '#domain/base/clock.ts';
import type { Round } from '#workflows/protocol/round.ts';
import { ruleRunnerId } from '#workflows/protocol/workflow-ids.ts';
import type { Dependencies } from '../dependencies.ts';
import { forEachInTurn } from '../base/for-each.ts';
import { isDue, repeatFor } from '../base/round.ts';

const BATCH = 50;
const ROUND_MS = 45_000;

export function createRuleActivities({ pools }: Pick<Dependencies, 'pools'>) {
  return {
    /** Does what the rules of a workspace say that are due, each in a transaction of its own. @returns what the workspace waits for. */
    runRules: ({ workspaceId }: { workspaceId: string }): Promise<Round> =>
      repeatFor(ROUND_MS, 'more rules are due', async (canceled) => {
        const work = await decide(pools, workspaceId, ruleRunnerId(workspaceId), look);
        if (!isDue(work)) return work;
        await forEachInTurn(work.due, canceled, (id) =>
          withTenant(pools, workspaceId, (db) => runRule(db, id, currentTime())),
        );
        return null;
      }),
  };
}

async function look(db: TenantDb): Promise<Look & { due: readonly string[] }> {
  const due = await dueRuleRuns(db, currentTime(), BATCH);
  const nextAt = await nextRuleRunAt(db);
  return nextAt === null
    ? { due, nextAt, reason: 'nothing has happened that rules are about', ended: true }
    : { due, nextAt, reason: 'contacts wait for an answer' };
}
