import { sql } from 'slonik';
import { z } from 'zod';
import { insertion } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { CampaignRow } from '#db/queries/campaigns/campaigns.ts';
import { factsOf } from '#db/queries/campaigns/facts.ts';
import { findLeads } from '#db/queries/contacts/leads.ts';
import { newId } from '#domain/base/ids.ts';
import { truncate } from '#domain/base/text.ts';
import { mapInTurns } from '#domain/base/turns.ts';
import { needsOf, storedJudged } from '#domain/campaigns/judge.ts';
import { type CampaignStep, placedSteps, stepsById } from '#domain/campaigns/step.ts';
import { type Passed, stopsBefore } from '#domain/campaigns/walk.ts';
import { stopByCondition } from './campaign-stops.ts';

const NextRow = z.object({ leadId: z.string(), enteredAt: z.date(), stepId: z.string().nullable() });

/**
 * Stops the leads for whom a condition to stop holds before the next message that they have not got, and says why on their timelines.
 * Requires the locks of their sequences.
 * @returns those that stopped.
 */
export async function stopWhenMet(
  db: TenantDb,
  { id, steps, stopWhen }: CampaignRow,
  leadIds: readonly string[],
  now: Date,
): Promise<ReadonlySet<string>> {
  const asks = stopWhen.length > 0 || placedSteps(steps).some(({ step }) => step.stopWhen);
  if (!asks || leadIds.length === 0) return new Set();
  const rows = await db.any(sql.type(NextRow)`
    select lead_id, entered_at, (
      select coalesce(m.step_id, (m.step_index + 1)::text) from messages m
      where m.workspace_id = l.workspace_id and m.campaign_id = l.campaign_id and m.lead_id = l.lead_id
        and m.status in ('pending', 'scheduled')
      order by array_position(${sql.array([...stepsById(steps).keys()], 'text')}, coalesce(m.step_id, (m.step_index + 1)::text)) limit 1) step_id
    from campaign_leads l
    where workspace_id = ${db.workspaceId} and campaign_id = ${id} and lead_id = any(${sql.array([...leadIds], 'text')})
      and state = 'running'`);
  const placed = stepsById(steps);
  const stepOf = (stepId: string | null): Pick<CampaignStep, 'stopWhen'> =>
    placed.get(stepId ?? '')?.step ?? {};
  const found = await findLeads(
    db,
    rows.map(({ leadId }) => leadId),
  );
  const leads = rows.flatMap(({ leadId, enteredAt }) => {
    const lead = found.get(leadId);
    return lead ? [{ ...lead, enteredAt }] : [];
  });
  const asked = [...stopWhen, ...rows.flatMap(({ stepId }) => stepOf(stepId).stopWhen ?? [])];
  const facts = await factsOf(db, leads, needsOf(asked), id);
  const judged = await mapInTurns(rows, ({ leadId, stepId }) => {
    const known = facts.get(leadId);
    const stops = known ? stopsBefore(stepOf(stepId), stopWhen, known, now) : null;
    if (stops === null) return [];
    const { why, judged: conditions } = stops;
    const at = stepId ?? placed.keys().next().value ?? '';
    const passed = {
      stepId: at,
      kind: 'stop',
      outcome: 'stopped',
      why,
      judged: conditions,
      at: now,
    } as const;
    return [{ leadId, passed: [passed] }];
  });
  const stopped = judged.flat();
  await insertDecisions(db, id, stopped, now);
  const ids = stopped.map(({ leadId }) => leadId);
  if (ids.length > 0) await stopByCondition(db, id, ids, now);
  return new Set(ids);
}

/** Records what was decided about leads, for their timelines. */
export async function insertDecisions(
  db: TenantDb,
  campaignId: string,
  decided: readonly { leadId: string; passed: readonly Passed[] }[],
  now: Date,
): Promise<void> {
  const rows = decided.flatMap(({ leadId, passed }) =>
    passed.map(({ stepId, kind, outcome, why, judged, at }) => ({
      workspaceId: db.workspaceId,
      id: newId(now),
      campaignId,
      leadId,
      stepId,
      kind,
      outcome,
      why: truncate(why, 1000),
      judged: storedJudged(judged),
      decidedAt: at,
    })),
  );
  if (rows.length > 0) await db.query(sql.type(NoRows)`${insertion('campaign_decisions', rows)}`);
}
