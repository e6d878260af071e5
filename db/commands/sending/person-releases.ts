import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake, wakeLines } from '#db/wakes/wakes.ts';
import { campaignWorkflowId } from '#workflows/protocol/workflow-ids.ts';

/** Looking again at messages of campaigns that wait because of their persons, when a rule about persons holds less than before. */

const REASONS = sql.fragment`('contact_busy', 'frequency_cap')`;

const ReleasedRow = z.object({ lineId: z.string().nullable(), scheduledAt: z.date() });

/** Makes messages due again. Skips locked ones: whoever has locked them changes them. @returns how many. */
async function release(db: TenantDb, which: FragmentSqlToken, limit: number, now: Date): Promise<number> {
  const released = await db.any(sql.type(ReleasedRow)`
    with free as materialized (
      select m.id from messages m
      where m.workspace_id = ${db.workspaceId} and ${which} and m.status in ('pending', 'scheduled') and not m.held
        and m.scheduled_at > ${sql.timestamp(now)}
      limit ${limit} for no key update of m skip locked
    )
    update messages m set scheduled_at = ${sql.timestamp(now)}, hold_reason = null, updated_at = now()
    from free where m.workspace_id = ${db.workspaceId} and m.id = free.id
    returning m.line_id, m.scheduled_at`);
  wakeLines(db, released);
  return released.length;
}

const MOST_OF_PERSONS = 1000;

/** Looks again at what waits for the end of conversations with these addresses, which ended. */
export async function releaseOfClosed(db: TenantDb, addresses: readonly string[], now: Date): Promise<void> {
  if (addresses.length === 0) return;
  const these = sql.array([...addresses], 'text');
  await release(
    db,
    sql.fragment`m.hold_reason = 'contact_busy' and m.id in (
      select id from messages where workspace_id = ${db.workspaceId} and address = any(${these})
      union
      select o.id from list_addresses a join messages o on o.workspace_id = a.workspace_id and o.lead_id = a.lead_id
      where a.workspace_id = ${db.workspaceId} and a.address = any(${these}))`,
    MOST_OF_PERSONS,
    now,
  );
}

/** Has all campaigns under way look again at what waits because of its persons. */
export async function releaseAllLater(db: TenantDb, now: Date): Promise<void> {
  const ids = await db.anyFirst(sql.type(IdRow)`
    update campaigns set releases_held = true
    where workspace_id = ${db.workspaceId} and status in ('active', 'paused') and deleted_at is null returning id`);
  for (const id of ids) wake(db, campaignWorkflowId(id), now, 'progressDue');
}

/** Looks again at the next messages of a campaign that wait because of their persons. Requires `lockCampaign`. */
export async function releaseNext(db: TenantDb, campaignId: string, limit: number, now: Date): Promise<void> {
  const which = sql.fragment`m.campaign_id = ${campaignId} and m.hold_reason in ${REASONS}`;
  if ((await release(db, which, limit, now)) === limit) return;
  await db.query(sql.type(NoRows)`
    update campaigns set releases_held = false where workspace_id = ${db.workspaceId} and id = ${campaignId}`);
}
