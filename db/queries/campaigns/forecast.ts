import { delaysUnderCap } from '#domain/campaigns/forecast/person-cap.ts';
import { personRules } from '../sending/person-holds.ts';
import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { dayBounds, hourBounds } from '#domain/base/calendar.ts';
import { stepNumbers, StoredSteps, stepsById } from '#domain/campaigns/step.ts';
import { pauseBetween } from '#domain/campaigns/walk.ts';
import type { Channel } from '#domain/base/channel.ts';
import type { ForecastLine, WaitingMessages } from '#domain/campaigns/forecast/plan.ts';
import { sendTimes } from '#domain/campaigns/forecast/send-times.ts';
import { wakingHours } from '#domain/sending/quiet-hours.ts';
import { LineIdRow } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { lineHistory } from '../sending/call-history.ts';
import { changesOfLines } from '../lines/line-changes.ts';
import { MessageRecipient, recipientOf } from '../messages/message-recipient.ts';
import { MessageWindow, sendWindow } from '../messages/message-window.ts';
import { findPacedLines } from '../sending/paced-lines.ts';
import { RULES } from '../sending/queue.ts';
import { workspacePace } from '../accounts/workspaces.ts';

/** The data of lines for a forecast, with the messages that wait on each. @param campaignId whose messages the forecast counts. */
export async function forecastLines(
  db: TenantDb,
  shares: readonly { lineId: string; weight: number }[],
  campaignId: string | null,
  { timezone, now }: { timezone: string; now: Date },
): Promise<ForecastLine[]> {
  const lineIds = shares.map(({ lineId }) => lineId);
  const paced = await findPacedLines(db, lineIds, now);
  const waiting = await waitingAt(db, lineIds, campaignId, { timezone, now });
  const changes = await changesOfLines(db, lineIds, now);
  const since = { day: dayBounds(timezone, now).start, hour: hourBounds(timezone, now).start };
  const lines: ForecastLine[] = [];
  for (const { lineId, weight } of shares) {
    const pace = paced.get(lineId);
    if (!pace) continue;
    const history = await lineHistory(db, lineId, since);
    lines.push({
      line: pace,
      changes: changes.get(lineId) ?? [],
      weight,
      history,
      waiting: waiting.get(lineId) ?? [],
    });
  }
  return lines;
}

const WaitingRow = MessageWindow.extend(MessageRecipient.shape).extend({
  lineId: z.string(),
  lane: z.string(),
  isNew: z.boolean(),
  stepIndex: z.int().nullable(),
  first: z.date(),
  last: z.date(),
  count: z.int(),
});
type WaitingRow = z.infer<typeof WaitingRow>;

/** The messages that wait in the queues of lines, by the hour in which they are due. Paused campaigns are not included. */
async function waitingAt(
  db: TenantDb,
  lineIds: readonly string[],
  campaignId: string | null,
  { timezone, now }: { timezone: string; now: Date },
): Promise<Map<string, WaitingMessages[]>> {
  const due = sql.fragment`greatest(m.scheduled_at, ${sql.timestamp(now)})`;
  const rows = await db.any(sql.type(WaitingRow)`
    select m.line_id, m.lane::text, m.is_new, m.step_index, ${RULES},
      min(${due}) "first", max(${due}) "last", count(*)
    from messages m
    where m.workspace_id = ${db.workspaceId} and m.line_id = any(${sql.array([...lineIds], 'text')})
      and m.status in ('pending', 'scheduled') and not m.held and not m.force_fallback
      and (m.campaign_id is null or m.campaign_id = ${campaignId} or m.campaign_id in (
        select id from campaigns where workspace_id = ${db.workspaceId} and status = 'active'))
    group by m.line_id, m.lane, m.is_new, m.step_index, ${RULES}, date_trunc('hour', ${due})
    order by "first"`);
  const { quiet } = await workspacePace(db);
  const later = await laterSteps(db, lineIds, campaignId);
  const found = new Map<string, WaitingMessages[]>();
  const streamOf = ({ lineId, lane, isNew, stepIndex }: WaitingRow): string =>
    [lineId, lane, isNew, stepIndex].join(' ');
  for (const rowsOfStream of Map.groupBy(rows, streamOf).values()) {
    const [first] = rowsOfStream;
    if (!first) continue;
    const ofLine = found.get(first.lineId) ?? [];
    found.set(first.lineId, ofLine);
    ofLine.push({
      isNew: first.isNew,
      isCounted: campaignId !== null && first.campaignId === campaignId,
      times: sendTimes(
        { ...sendWindow(first), quiet: wakingHours(quiet, recipientOf(first), timezone) },
        timezone,
      ),
      due: rowsOfStream.map(({ first, last, count }) => ({ first, last, count })),
      later: later(first),
    });
  }
  return found;
}

const LaterRow = z.object({
  lineId: z.string(),
  campaignId: z.string(),
  recipientZones: z.array(z.string()).nullable(),
  recipientRegion: z.string().nullable(),
  stepIndex: z.int(),
  count: z.int(),
  steps: StoredSteps,
  stepIds: z.array(z.string()).nullable(),
});
type LaterRow = z.infer<typeof LaterRow>;

/** The steps that wait for previous ones. @returns those that follow a step on a line, in order. */
async function laterSteps(db: TenantDb, lineIds: readonly string[], campaignId: string | null) {
  const rows = await db.any(sql.type(LaterRow)`
    select h.*, k.steps, k.step_ids from (
      select m.line_id, m.campaign_id, m.recipient_zones, m.recipient_region, m.step_index, count(*) from messages m
      where m.workspace_id = ${db.workspaceId} and m.campaign_id in (
          select id from campaigns
          where workspace_id = ${db.workspaceId} and (status = 'active' or id = ${campaignId}))
        and m.held and m.status in ('pending', 'scheduled') and m.line_id = any(${sql.array([...lineIds], 'text')})
        and m.step_index is not null
      group by 1, 2, 3, 4, 5
    ) h join campaigns k on k.workspace_id = ${db.workspaceId} and k.id = h.campaign_id`);
  const { frequencyCap } = await personRules(db);
  const keyOf = (row: Omit<LaterRow, 'stepIndex' | 'count' | 'steps' | 'stepIds'>): string =>
    JSON.stringify([row.lineId, row.campaignId, row.recipientZones, row.recipientRegion]);
  const later = Map.groupBy(rows, keyOf);
  return ({ campaignId: id, stepIndex, ...row }: WaitingRow) => {
    const rows = id === null ? [] : (later.get(keyOf({ ...row, campaignId: id })) ?? []);
    const [first] = rows;
    if (!first) return [];
    const placed = [...stepsById(first.steps).values()];
    const numbers = stepNumbers(first);
    const placeOf = (number: number | null) =>
      placed.findIndex(({ id: stepId }) => numbers.get(stepId) === number);
    let done = Math.max(0, placeOf(stepIndex));
    const following = rows
      .map(({ stepIndex: number, count }) => ({ place: placeOf(number), count }))
      .filter(({ place }) => place > done)
      .toSorted((a, b) => a.place - b.place)
      .map(({ place, count }) => {
        const pause = pauseBetween(first.steps, placed[done]?.id ?? '', placed[place]?.id ?? '');
        done = place;
        return { delayMs: pause, count };
      });
    // After the message that waits.
    const [, ...delays] = delaysUnderCap([0, ...following.map(({ delayMs }) => delayMs)], frequencyCap);
    return following.map(({ count }, index) => ({ delayMs: delays[index] ?? 0, count }));
  };
}

const ReachRow = z.object({ phones: z.int(), emails: z.int(), either: z.int() });

/** How many of the leads can be reached. @param leads a query for `lead_id`; null: there are none. */
export async function reachOf(
  db: TenantDb,
  leads: FragmentSqlToken | null,
): Promise<Record<Channel, number>> {
  if (!leads) return { imessage: 0, sms: 0, email: 0 };
  const { phones, emails, either } = await db.one(sql.type(ReachRow)`
    select count(*) filter (where l.phones <> '{}') phones, count(*) filter (where l.emails <> '{}') emails,
      count(*) filter (where l.phones <> '{}' or l.emails <> '{}') either
    from (${leads}) a join leads l on l.workspace_id = ${db.workspaceId} and l.id = a.lead_id`);
  return { imessage: either, sms: phones, email: emails };
}

const KnownRow = z.object({ lineId: z.string(), count: z.int() });

/** How many of the leads already have a line, by line. @param leads a query for `lead_id`; null: there are none. */
export async function knownLeads(
  db: TenantDb,
  leads: FragmentSqlToken | null,
  lineIds: readonly string[],
): Promise<Map<string, number>> {
  if (!leads) return new Map();
  const rows = await db.any(sql.type(KnownRow)`
    select c.line_id, count(distinct a.lead_id) count
    from list_addresses a join (${leads}) n on n.lead_id = a.lead_id
    join conversations c on c.workspace_id = a.workspace_id and c.address = a.address
      and c.line_id = any(${sql.array([...lineIds], 'text')})
    join line_contacts lc on lc.workspace_id = c.workspace_id and lc.line_id = c.line_id and lc.address = c.address
    where a.workspace_id = ${db.workspaceId}
    group by 1`);
  return new Map(rows.map(({ lineId, count }) => [lineId, count]));
}

/** The lines on which messages of a campaign wait. */
export async function linesOfCampaign(db: TenantDb, campaignId: string): Promise<readonly string[]> {
  return db.anyFirst(sql.type(LineIdRow)`
    select distinct m.line_id from messages m
    where m.workspace_id = ${db.workspaceId} and m.campaign_id = ${campaignId} and m.status in ('pending', 'scheduled')
      and m.line_id is not null`);
}
