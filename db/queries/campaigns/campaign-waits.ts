import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { LeadWait } from '#domain/campaigns/campaign-waits.ts';
import { earliest } from '#domain/base/earliest.ts';
import { whyItWaits } from '#domain/sending/why-it-waits.ts';
import { type CampaignRow, campaignWindow } from './campaigns.ts';
import { findPacedLines } from '../sending/paced-lines.ts';
import { workspacePace } from '../accounts/workspaces.ts';

const GroupRow = z.object({
  lineId: z.string().nullable(),
  holdReason: z.string().nullable(),
  isNew: z.boolean(),
  isDue: z.boolean(),
  firstAt: z.date(),
  leads: z.int(),
});

const AtStepsRow = z.object({ atSteps: z.int(), paused: z.int() });

/** A message that is due waits for nothing else. */
const IN_TURN = new Set(['scheduled', 'line_gap']);

/**
 * What the active leads of a campaign wait for. Reads index entries only, one for each lead, and a row for each line;
 * the messages of a group are held by the same rule, except that a cap may hold some of them only.
 * @returns `isSending`: some messages only wait for their turn, or none waits; `nextDueAt`: when the first message that waits for its time is due; null: none does.
 */
export async function campaignWaits(
  db: TenantDb,
  campaign: CampaignRow,
  now: Date,
): Promise<{ waits: LeadWait[]; isSending: boolean; nextDueAt: Date | null }> {
  const groups = await db.any(sql.type(GroupRow)`
    select line_id, hold_reason, is_new, scheduled_at <= ${sql.timestamp(now)} is_due, min(scheduled_at) first_at,
      count(*) leads
    from messages
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaign.id} and status in ('pending', 'scheduled')
      and (not held or hold_reason = 'personalization')
    group by line_id, hold_reason, is_new, is_due`);
  const { atSteps, paused } = await db.one(sql.type(AtStepsRow)`
    select count(*) filter (where due_at is not null and paused_at is null)::int at_steps,
      count(*) filter (where paused_at is not null)::int paused
    from campaign_leads
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaign.id} and state = 'running'
      and (due_at is not null or paused_at is not null)`);
  const lineIds = new Set(groups.flatMap(({ lineId }) => lineId ?? []));
  const workspace = await workspacePace(db);
  const lines = await findPacedLines(db, [...lineIds], now, workspace);
  const window = campaignWindow(campaign, workspace.timezone);
  const waits = new Map<string, { leads: number; lines: Set<string> }>();
  let isSending = groups.length === 0 && atSteps === 0 && paused === 0;
  if (paused > 0) waits.set('lead_paused', { leads: paused, lines: new Set() });
  if (atSteps > 0) waits.set('campaign_step', { leads: atSteps, lines: new Set() });
  for (const group of groups) {
    const { holdReason, isNew, firstAt } = group;
    const message = {
      holdReason,
      isNew,
      scheduledAt: firstAt,
      isAnswer: false,
      unqueued: holdReason === 'personalization',
      campaign: campaign.status,
      ...(window && { window }),
    };
    const line = lines.get(group.lineId ?? '') ?? { ...workspace, id: null };
    const reason = whyItWaits(line, message, now)?.reason ?? 'scheduled';
    const wait = waits.get(reason) ?? { leads: 0, lines: new Set() };
    waits.set(reason, wait);
    wait.leads += group.leads;
    if (group.lineId !== null) wait.lines.add(group.lineId);
    isSending ||= group.isDue && IN_TURN.has(reason);
  }
  const shown = [...waits]
    .map(([reason, { leads, lines: onLines }]) => ({ reason, leads, lines: onLines.size }))
    .toSorted((a, b) => b.leads - a.leads || a.reason.localeCompare(b.reason));
  const nextDueAt = groups.reduce<Date | null>(
    (first, { isDue, firstAt }) => (isDue ? first : earliest(first, firstAt)),
    null,
  );
  return { waits: shown, isSending, nextDueAt };
}
