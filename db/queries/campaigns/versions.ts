import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import {
  type CampaignStep,
  type MessageStep,
  messageSteps,
  type Placed,
  StoredSteps,
  stepsById,
} from '#domain/campaigns/step.ts';
import type { CampaignRow } from './campaigns.ts';

/** The versions of campaigns that were edited while they ran. */

const VersionRow = z.object({
  version: z.int(),
  steps: StoredSteps,
  createdByUserId: z.string().nullable(),
  createdAt: z.date(),
});
export type VersionRow = z.infer<typeof VersionRow>;

/** Stores the steps that a campaign has now. Those of a version are stored once. */
export async function storeVersion(
  db: TenantDb,
  campaign: CampaignRow,
  { userId, at }: { userId: string | null; at: Date },
): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into campaign_versions (workspace_id, campaign_id, version, steps, created_by_user_id, created_at)
    values (${db.workspaceId}, ${campaign.id}, ${campaign.version}, ${sql.jsonb(campaign.steps)}, ${userId}, ${sql.timestamp(at)})
    on conflict do nothing`);
}

/** The versions of a campaign before another one, newest first. */
export async function listVersions(
  db: TenantDb,
  campaignId: string,
  { limit, before }: { limit: number; before: number },
): Promise<VersionRow[]> {
  const rows = await db.any(sql.type(VersionRow)`
    select version, steps, created_by_user_id, created_at from campaign_versions
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and version < ${before}
    order by version desc limit ${limit}`);
  return [...rows];
}

const StepsRow = VersionRow.pick({ version: true, steps: true });

/**
 * The steps by which leads of these versions go. Of a version before the first that is stored, all steps are in that one, and in the same
 * places.
 */
export async function stepsOfVersions(
  db: TenantDb,
  campaignId: string,
  versions: readonly number[],
): Promise<ReadonlyMap<number, CampaignStep[]>> {
  const found = new Map<number, CampaignStep[]>();
  for (const version of new Set(versions)) {
    const row = await db.maybeOne(sql.type(StepsRow)`
      select version, steps from campaign_versions
      where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and version >= ${version}
      order by version limit 1`);
    if (row) found.set(version, row.steps);
  }
  return found;
}

/** The messages with these numbers that are not among the steps of a campaign any more, as they were last. */
export async function stepsOnceSent(
  db: TenantDb,
  { id, steps, stepIds }: CampaignRow,
  numbers: ReadonlySet<number>,
): Promise<Placed<MessageStep>[]> {
  const current = stepsById(steps);
  const missing = new Set(
    (stepIds ?? []).filter((stepId, number) => numbers.has(number) && !current.has(stepId)),
  );
  const found: Placed<MessageStep>[] = [];
  for (const stepId of missing) {
    const row = await db.maybeOne(sql.type(StepsRow)`
      select version, steps from campaign_versions
      where workspace_id = ${db.workspaceId} and campaign_id = ${id}
        and jsonb_path_exists(steps, '$.**.id ? (@ == $id)', ${sql.jsonb({ id: stepId })})
      order by version desc limit 1`);
    const step = messageSteps(row?.steps ?? []).find((one) => one.id === stepId);
    if (step) found.push(step);
  }
  return found;
}
