import { sql } from 'slonik';
import { emitEvents } from '#db/commands/events/events.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { CampaignRow } from '#db/queries/campaigns/campaigns.ts';

/** A forecast takes long with many lines and leads. */
const CHECK_EVERY_MS = 3_600_000;

/** An active campaign whose deadline is to be compared with a forecast now, at most once an hour; null: it is not. */
export async function deadlineToCheck(
  db: TenantDb,
  campaignId: string,
  now: Date,
): Promise<CampaignRow | null> {
  return db.maybeOne(sql.type(CampaignRow)`
    update campaigns set deadline_checked_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and id = ${campaignId} and status = 'active' and finish_by is not null
      and deleted_at is null
      and coalesce(deadline_checked_at, '-infinity') <= ${sql.timestamp(new Date(now.getTime() - CHECK_EVERY_MS))}
    returning *`);
}

/** Records what the forecast says about the deadline; emits `campaign.will_be_late` when it slips. */
export async function recordDeadline(
  db: TenantDb,
  { id, name, finishBy }: CampaignRow,
  { isPossible, completesAt, lines }: { isPossible: boolean; completesAt: Date | null; lines: number | null },
  now: Date,
): Promise<void> {
  if (finishBy === null) return;
  const { rowCount } = await db.query(sql.type(NoRows)`
    update campaigns set is_late = ${!isPossible}
    where workspace_id = ${db.workspaceId} and id = ${id} and is_late = ${isPossible} and status = 'active'
      and finish_by = ${sql.timestamp(finishBy)}`);
  if (rowCount === 0 || isPossible) return;
  const event = {
    event: 'campaign.will_be_late' as const,
    timestamp: now.toISOString(),
    workspaceId: db.workspaceId,
    campaignId: id,
    campaignName: name,
    data: { finishBy: finishBy.toISOString(), completesAt: completesAt?.toISOString() ?? null, lines },
  };
  await emitEvents(db, [event], now);
}
