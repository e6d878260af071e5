import { sql } from 'slonik';
import { z } from 'zod';
import {
  type Campaign,
  type CampaignInput,
  type CampaignPatch,
  type CampaignProgress,
  CampaignStatus,
  type OnReply,
} from '#domain/campaigns/campaign.ts';
import { Audience } from '#domain/contacts/segment.ts';
import { Condition } from '#domain/campaigns/condition.ts';
import { asksAboutReplies } from '#domain/campaigns/walk.ts';
import { identified, stepNumbers, StoredSteps } from '#domain/campaigns/step.ts';
import { newId } from '#domain/base/ids.ts';
import { CampaignQuietHours } from '#domain/sending/quiet-hours.ts';
import type { SendWindow } from '#domain/sending/send-window.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { containsText } from '../base/search.ts';

export const CampaignRow = z.object({
  id: z.string(),
  workspaceId: z.string(),
  name: z.string(),
  description: z.string(),
  status: CampaignStatus,
  steps: StoredSteps,
  listId: z.string().nullable(),
  segmentId: z.string().nullable(),
  audience: Audience,
  eligibleLineIds: z.array(z.string()).nullable(),
  poolId: z.string().nullable(),
  stickinessPolicy: z.enum(['sticky', 'round_robin']),
  timezone: z.string().nullable(),
  windowStart: z.string().nullable(),
  windowEnd: z.string().nullable(),
  windowDays: z.array(z.int()).nullable(),
  quietHours: CampaignQuietHours.nullable(),
  requireConsent: z.boolean(),
  stopOnReply: z.boolean(),
  /** Only if a reply does not stop. */
  pauseOnReply: z.boolean(),
  stopWhen: z.array(Condition),
  finishBy: z.date().nullable(),
  /** The forecast said last that it is not finished by then. */
  isLate: z.boolean(),
  needsAiPersonalization: z.boolean(),
  enteredTo: z.string(),
  enteredAll: z.boolean(),
  /** When all leads of its segment were last looked at. */
  scannedAt: z.date().nullable(),
  /** What waits because of its persons is to be looked at again. */
  releasesHeld: z.boolean(),
  /** Of its steps. */
  version: z.int(),
  /** Since when what waits is brought up to date with the version; null: all is. */
  revisedAt: z.date().nullable(),
  /** All steps that it ever had, whose places are their numbers; null: only those of `steps`, in reading order. */
  stepIds: z.array(z.string()).nullable(),
  createdByUserId: z.string().nullable(),
  startedAt: z.date().nullable(),
  completedAt: z.date().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
});
export type CampaignRow = z.infer<typeof CampaignRow>;

/** What a reply does to a lead of the campaign. */
export const replyRule = ({
  stopOnReply,
  pauseOnReply,
}: Pick<CampaignRow, 'stopOnReply' | 'pauseOnReply'>): OnReply =>
  stopOnReply ? 'stop' : pauseOnReply ? 'pause' : 'continue';

const onReplyOf = (stopOnReply: boolean): OnReply => (stopOnReply ? 'stop' : 'continue');

export async function findCampaign(db: TenantDb, id: string): Promise<CampaignRow | null> {
  return db.maybeOne(sql.type(CampaignRow)`
    select * from campaigns where workspace_id = ${db.workspaceId} and id = ${id} and deleted_at is null`);
}

/** Locks a campaign until the transaction ends. Serializes entering, pausing and completing. */
export async function lockCampaign(db: TenantDb, id: string): Promise<CampaignRow | null> {
  return db.maybeOne(sql.type(CampaignRow)`
    select * from campaigns
    where workspace_id = ${db.workspaceId} and id = ${id} and deleted_at is null for no key update`);
}

/** Newest first, starting after the id `cursor`. */
export async function listCampaigns(
  db: TenantDb,
  { status, search }: { status?: CampaignStatus | undefined; search?: string | undefined },
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<CampaignRow[]> {
  const rows = await db.any(sql.type(CampaignRow)`
    select * from campaigns where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId} and deleted_at is null`,
      status !== undefined && sql.fragment`status = ${status}`,
      search !== undefined && containsText(sql.fragment`name`, search),
      cursor !== undefined && sql.fragment`id < ${cursor}`,
    ])}
    order by id desc limit ${limit}`);
  return [...rows];
}

const CampaignNameRow = CampaignRow.pick({ id: true, name: true });

/** The names of campaigns, for the events of their messages. */
export async function campaignNames(
  db: TenantDb,
  ids: readonly string[],
): Promise<Map<string, { id: string; name: string }>> {
  if (ids.length === 0) return new Map();
  const rows = await db.any(sql.type(CampaignNameRow)`
    select id, name from campaigns
    where workspace_id = ${db.workspaceId} and id = any(${sql.array([...ids], 'text')}) and deleted_at is null`);
  return new Map(rows.map((row) => [row.id, row]));
}

const CampaignIdRow = CampaignRow.pick({ id: true });

/** The id of a campaign that sends to a list, active or paused; null if there is none. */
export async function findSendingCampaign(db: TenantDb, listId: string): Promise<string | null> {
  return db.maybeOneFirst(sql.type(CampaignIdRow)`
    select id from campaigns
    where workspace_id = ${db.workspaceId} and list_id = ${listId} and status in ('active', 'paused') limit 1`);
}

/** The id of a campaign that sends to a segment, active or paused; null if there is none. */
export async function findCampaignOfSegment(db: TenantDb, segmentId: string): Promise<string | null> {
  return db.maybeOneFirst(sql.type(CampaignIdRow)`
    select id from campaigns
    where workspace_id = ${db.workspaceId} and segment_id = ${segmentId} and status in ('active', 'paused') limit 1`);
}

export async function insertCampaign(
  db: TenantDb,
  input: CampaignInput,
  userId: string | null,
  now: Date,
): Promise<CampaignRow> {
  const id = newId(now);
  await db.query(sql.type(NoRows)`
    insert into campaigns (workspace_id, id, name, steps, created_by_user_id)
    values (${db.workspaceId}, ${id}, ${input.name}, '[]', ${userId})`);
  // A lead that a reply stops comes to no condition about it.
  const asks = asksAboutReplies(input.steps, input.stopWhen);
  const onReply = input.onReply ?? onReplyOf(input.stopOnReply ?? !asks);
  const row = await updateCampaign(db, id, { ...input, onReply }, now);
  if (!row) throw new Error('the campaign was not inserted');
  return row;
}

export async function updateCampaign(
  db: TenantDb,
  id: string,
  patch: CampaignPatch,
  now: Date,
): Promise<CampaignRow | null> {
  const assignments = [sql.fragment`updated_at = now()`];
  const set = (column: string, value: string | boolean | null | undefined): void => {
    if (value !== undefined) assignments.push(sql.fragment`${sql.identifier([column])} = ${value}`);
  };
  const setArray = (
    column: string,
    type: string,
    values: readonly (string | number)[] | null | undefined,
  ): void => {
    if (values === null) assignments.push(sql.fragment`${sql.identifier([column])} = null`);
    else if (values !== undefined)
      assignments.push(sql.fragment`${sql.identifier([column])} = ${sql.array([...values], type)}`);
  };
  set('name', patch.name);
  set('description', patch.description);
  // Of a list and a segment, the one that is set last counts.
  set('list_id', patch.segmentId ? null : patch.listId);
  set('segment_id', patch.listId ? null : patch.segmentId);
  set('audience', patch.audience);
  // Of a pool and a list of lines, the one that is set last counts.
  set('pool_id', patch.eligibleLineIds ? null : patch.poolId);
  set('stickiness_policy', patch.stickinessPolicy);
  set('timezone', patch.timezone);
  set('window_start', patch.sendWindowStart);
  set('window_end', patch.sendWindowEnd);
  set('require_consent', patch.requireConsent);
  const onReply =
    patch.onReply ?? (patch.stopOnReply === undefined ? undefined : onReplyOf(patch.stopOnReply));
  set('stop_on_reply', onReply && onReply === 'stop');
  set('pause_on_reply', onReply && onReply === 'pause');
  if (patch.finishBy !== undefined) {
    const at = patch.finishBy === null ? sql.fragment`null` : sql.timestamp(new Date(patch.finishBy));
    assignments.push(sql.fragment`finish_by = ${at}, is_late = false, deadline_checked_at = null`);
  }
  if (patch.stopWhen !== undefined) assignments.push(sql.fragment`stop_when = ${sql.jsonb(patch.stopWhen)}`);
  set('needs_ai_personalization', patch.needsAiPersonalization);
  setArray('window_days', 'int2', patch.allowedDaysOfWeek);
  setArray('eligible_line_ids', 'text', patch.poolId ? null : patch.eligibleLineIds);
  if (patch.quietHours !== undefined)
    assignments.push(
      sql.fragment`quiet_hours = ${patch.quietHours === null ? sql.fragment`null` : sql.jsonb(patch.quietHours)}`,
    );
  if (patch.steps !== undefined) {
    const steps = identified(patch.steps, () => newId(now));
    assignments.push(sql.fragment`steps = ${sql.jsonb(steps)}`);
  }
  return db.maybeOne(sql.type(CampaignRow)`
    update campaigns set ${sql.join(assignments, sql.fragment`, `)}
    where workspace_id = ${db.workspaceId} and id = ${id} returning *`);
}

/** Records the last lead that entered or was looked at, and whether all have. */
export async function setEntryProgress(
  db: TenantDb,
  id: string,
  to: string,
  all: boolean,
  now: Date,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update campaigns set entered_to = ${to}, entered_all = ${all}, updated_at = now(),
      scanned_at = ${all ? sql.timestamp(now) : sql.fragment`scanned_at`}
    where workspace_id = ${db.workspaceId} and id = ${id}`);
}

export async function hasEntered(db: TenantDb, id: string): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select 1 from campaign_leads where workspace_id = ${db.workspaceId} and campaign_id = ${id}`);
}

const StateCountRow = z.object({
  state: z.enum(['running', 'finished', 'stopped']),
  leads: z.int(),
  noConsent: z.int(),
});

export async function campaignProgress(
  db: TenantDb,
  { id, enteredAll }: Pick<CampaignRow, 'id' | 'enteredAll'>,
): Promise<CampaignProgress> {
  const rows = await db.any(sql.type(StateCountRow)`
    select state, count(*) leads, count(*) filter (where stop_reason = 'no_consent') no_consent from campaign_leads
    where workspace_id = ${db.workspaceId} and campaign_id = ${id} group by state`);
  const counts = {
    running: 0,
    finished: 0,
    stopped: 0,
    ...Object.fromEntries(rows.map(({ state, leads }) => [state, leads])),
  };
  const entered = counts.running + counts.finished + counts.stopped;
  const noConsent = rows.reduce((sum, row) => sum + row.noConsent, 0);
  return { entered, ...counts, noConsent, enteredAll };
}

/** The send window of a campaign's messages; undefined if it has none. */
export function campaignWindow(
  {
    timezone,
    windowStart,
    windowEnd,
    windowDays,
  }: Pick<CampaignRow, 'timezone' | 'windowStart' | 'windowEnd' | 'windowDays'>,
  workspaceTimezone: string,
): SendWindow | undefined {
  if (windowStart === null && windowEnd === null && windowDays === null) return undefined;
  return {
    timezone: timezone ?? workspaceTimezone,
    ...(windowStart !== null && { start: windowStart }),
    ...(windowEnd !== null && { end: windowEnd }),
    ...(windowDays !== null && { days: windowDays }),
  };
}

export function presentCampaign(row: CampaignRow): Campaign {
  return {
    _id: row.id,
    workspaceId: row.workspaceId,
    name: row.name,
    description: row.description,
    status: row.status,
    steps: row.steps,
    version: row.version,
    stepIds: [...stepNumbers(row).keys()],
    listId: row.listId,
    segmentId: row.segmentId,
    audience: row.audience,
    eligibleLineIds: row.eligibleLineIds,
    poolId: row.poolId,
    stickinessPolicy: row.stickinessPolicy,
    timezone: row.timezone,
    sendWindowStart: row.windowStart,
    sendWindowEnd: row.windowEnd,
    allowedDaysOfWeek: row.windowDays,
    quietHours: row.quietHours,
    requireConsent: row.requireConsent,
    stopOnReply: row.stopOnReply,
    onReply: replyRule(row),
    stopWhen: row.stopWhen,
    finishBy: row.finishBy?.toISOString() ?? null,
    isLate: row.isLate,
    needsAiPersonalization: row.needsAiPersonalization,
    createdByUserId: row.createdByUserId,
    startedAt: row.startedAt?.toISOString() ?? null,
    completedAt: row.completedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
