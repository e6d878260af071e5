import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import { insertion } from '#db/connection/recordset.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { newId } from '#domain/base/ids.ts';
import { RuleTrigger } from '#domain/inbox/rule.ts';
import { ruleRunnerId } from '#workflows/protocol/workflow-ids.ts';

/** What has happened with a contact. */
export interface Happening {
  on: RuleTrigger;
  address: string;
  /** Through which the contact wrote or called. */
  lineId: string | null;
  replyId?: string;
  callId?: string;
}

const RuleRow = z.object({ id: z.string(), name: z.string(), trigger: RuleTrigger });

/**
 * Has rules look at what has happened, in the transaction in which it happens, so that nothing is lost and nothing is done twice.
 *
 * Called where a contact, a person or a program acts, and by nothing that a rule or a campaign does. So nothing that a rule does is followed
 * by a rule, and there are no loops.
 */
export async function triggerRules(db: TenantDb, happenings: readonly Happening[], now: Date): Promise<void> {
  const kinds = [...new Set(happenings.map(({ on }) => on))];
  const rules = await db.any(sql.type(RuleRow)`
    select id, name, trigger from rules
    where workspace_id = ${db.workspaceId} and trigger = any(${sql.array(kinds, 'text')}) order by id`);
  const runs = happenings.flatMap(({ on, address, lineId, replyId, callId }) =>
    rules
      .filter(({ trigger }) => trigger === on)
      .map(({ id, name }) => ({
        workspaceId: db.workspaceId,
        id: newId(now),
        ruleId: id,
        ruleName: name,
        trigger: on,
        address,
        lineId,
        replyId: replyId ?? null,
        callId: callId ?? null,
        happenedAt: now,
        dueAt: now,
      })),
  );
  if (runs.length === 0) return;
  await db.query(sql.type(NoRows)`${insertion('rule_runs', runs)}`);
  wake(db, ruleRunnerId(db.workspaceId), now, 'rulesDue');
}
