import { sql } from 'slonik';
import { z } from 'zod';
import { type CampaignStep, stepsById } from '#domain/campaigns/step.ts';
import { nextAfterEdit, type Place } from '#domain/campaigns/step-edits.ts';
import { type Cursor } from '#domain/campaigns/walk.ts';
import type { CampaignRow } from '#db/queries/campaigns/campaigns.ts';
import { lockLeads, type LeadRow } from '#db/queries/contacts/leads.ts';
import { stepsOfVersions } from '#db/queries/campaigns/versions.ts';
import { resumeDue } from './lead-pauses.ts';
import { type Received, receivedBy, type Unsent, unsentOf } from './revisions.ts';
import { stopWhenMet } from './stop-conditions.ts';
import { lockConversationsToAssign, lockListsOfSteps } from './step-actions.ts';
import { AtRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import {
  JUDGE_MS,
  NOTHING,
  type Traveller,
  type Walked,
  isKept,
  planRuns,
  reaches,
  runsOf,
  settleWalks,
  walkLeads,
} from './campaign-walks.ts';

/**
 * Leads that continue at a time, fewer if it takes longer than `JUDGE_MS` to judge them: they are locked, and so are their messages'
 * lines, and under the locks they are judged once more.
 */
const CONTINUE_BATCH = 200;

const DueRow = z.object({
  leadId: z.string(),
  version: z.int(),
  stepId: z.string().nullable(),
  isPassed: z.boolean(),
  arrivedAt: z.date().nullable(),
  enteredAt: z.date(),
});
type DueRow = z.infer<typeof DueRow>;

/** When the next lead that waits at a step is to be looked at; null: none waits. */
export async function nextDue(db: TenantDb, campaignId: string): Promise<Date | null> {
  return db.oneFirst(sql.type(AtRow)`
    select min(due_at) "at" from campaign_leads
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and state = 'running' and due_at is not null`);
}

/**
 * Lets the leads continue that wait at a step and are due, and those that do not go by the current version of the steps yet. They are judged
 * once before lines and conversations are locked, to plan their messages, and once under the locks of their sequences; a lead about whom
 * something changed in between stays due. Requires `lockCampaign`.
 * @param which `outdated`: only those that do not go by the current version, and none of which a message is being sent: its outcome makes
 * it due.
 * @returns how many it looked at.
 */
export async function continueLeads(
  db: TenantDb,
  campaign: CampaignRow,
  now: Date,
  which: 'due' | 'outdated' = 'due',
): Promise<number> {
  const resumed = which === 'due' ? await resumeDue(db, campaign, CONTINUE_BATCH, now) : 0;
  if (resumed > 0) return resumed;
  const ofCampaign = sql.fragment`workspace_id = ${db.workspaceId} and campaign_id = ${campaign.id}`;
  const isMeant =
    which === 'due'
      ? sql.fragment`due_at <= ${sql.timestamp(now)}`
      : sql.fragment`version < ${campaign.version} and lead_id <> all(array(
          select lead_id from messages where ${ofCampaign} and status = 'sending' and lead_id is not null))`;
  const due = sql.fragment`${ofCampaign} and state = 'running' and paused_at is null and ${isMeant}`;
  const columns = sql.fragment`lead_id, version, step_id, is_passed, arrived_at, entered_at`;
  const waiting = await db.any(sql.type(DueRow)`
    select ${columns} from campaign_leads where ${due}
    order by ${which === 'due' ? sql.fragment`due_at` : sql.fragment`version`} limit ${CONTINUE_BATCH}`);
  const found = waiting.map(({ leadId }) => leadId);
  const leads = new Map((await lockLeads(db, found)).map((lead) => [lead.id, lead]));
  await unschedule(
    db,
    campaign,
    found.filter((id) => !leads.has(id)),
    { version: campaign.version },
  );
  const lists = await lockListsOfSteps(db, campaign);
  const going = await travellersOf(db, campaign, leads, waiting, now);
  const before = await walkLeads(db, campaign, going, now, JUDGE_MS);
  const later = new Set(going.slice(before.length).map(({ lead }) => lead.id));
  const ids = found.filter((id) => !later.has(id));
  const planned = await planRuns(db, campaign, runsOf(before), now);
  await lockConversationsToAssign(db, before);
  await lockRunning(db, ids);
  const locked = await db.any(sql.type(DueRow)`
    select ${columns} from campaign_leads where ${due} and lead_id = any(${sql.array(ids, 'text')}) order by lead_id`);
  // The messages of the others are on their way: only whether these stop is looked at.
  const onTheirWay = locked
    .filter((row) => row.stepId === null && !isOutdated(campaign, row))
    .map(({ leadId }) => leadId);
  await stopWhenMet(db, campaign, onTheirWay, now);
  await unschedule(db, campaign, onTheirWay, { version: campaign.version });
  const travellers = await travellersOf(db, campaign, leads, locked, now, { lock: true });
  const walks = (await walkLeads(db, campaign, travellers, now)).map((walked) =>
    campaign.status === 'active' ? walked : parked(walked, now),
  );
  const isPlanned = new Set(planned.map(({ lead, stepId }) => `${lead.id} ${stepId}`));
  const settled = walks.filter(
    ({ lead, received, unsent, rest }) =>
      rest.kind !== 'sends' ||
      rest.run.every(
        (one) =>
          received.has(one.id) ||
          !reaches(lead, one.step) ||
          isKept(unsent, one) ||
          isPlanned.has(`${lead.id} ${one.id}`),
      ),
  );
  const walkOf = new Map(settled.map((one) => [one.lead.id, one]));
  await settleWalks(
    db,
    campaign,
    settled,
    planned.filter(({ lead, stepId }) => {
      const walked = walkOf.get(lead.id);
      return (
        walked?.rest.kind === 'sends' &&
        !walked.received.has(stepId) &&
        walked.rest.run.some((one) => one.id === stepId && !isKept(walked.unsent, one))
      );
    }),
    now,
    lists,
  );
  // The outcome of what is being sent makes these due.
  const walked = new Set(travellers.map(({ lead }) => lead.id));
  const beingSent = locked.filter(
    (row) => isOutdated(campaign, row) && leads.has(row.leadId) && !walked.has(row.leadId),
  );
  await unschedule(
    db,
    campaign,
    beingSent.map(({ leadId }) => leadId),
  );
  return waiting.length;
}

/** Whether a lead goes by an earlier version of the steps. Only those that were edited have places of their own. */
const isOutdated = ({ stepIds, version }: CampaignRow, lead: DueRow): boolean =>
  stepIds !== null && lead.version < version;

/** A lead that would decide or do something while its campaign is paused waits where it is, and goes on with the campaign. */
function parked(walked: Walked, now: Date): Walked {
  const { stepId, at } = walked.cursor;
  if (walked.passed.length === 0 || stepId === null) return walked;
  return {
    ...walked,
    passed: [],
    does: [],
    rest: { kind: 'waits', stepId, at, until: now, isAwaitingFacts: false },
  };
}

/**
 * Looks no more at leads that are on their way, or are being deleted.
 * @param options.version of the steps by which they go now; default: as before.
 */
async function unschedule(
  db: TenantDb,
  { id }: CampaignRow,
  leadIds: readonly string[],
  { version }: { version?: number } = {},
): Promise<void> {
  if (leadIds.length === 0) return;
  await db.query(sql.type(NoRows)`
    update campaign_leads set due_at = null, version = coalesce(${version ?? null}::int, version)
    where workspace_id = ${db.workspaceId} and campaign_id = ${id} and lead_id = any(${sql.array([...leadIds], 'text')})`);
}

/** Locks all running sequences of leads, since what a step does to a lead concerns its other campaigns. */
async function lockRunning(db: TenantDb, leadIds: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    select from campaign_leads
    where workspace_id = ${db.workspaceId} and state = 'running' and lead_id = any(${sql.array([...leadIds], 'text')})
    order by campaign_id, lead_id for no key update`);
}

/**
 * The leads that go on from a step, and those that do not go by the current version of the steps yet, from where they are in it. Leaves
 * out those of which a message is being sent.
 * @param options.lock locks the messages of the latter. Requires the locks of their sequences.
 */
async function travellersOf(
  db: TenantDb,
  campaign: CampaignRow,
  leads: ReadonlyMap<string, LeadRow>,
  rows: readonly DueRow[],
  now: Date,
  { lock = false }: { lock?: boolean } = {},
): Promise<Traveller[]> {
  if (campaign.stepIds === null)
    return rows.flatMap((row) => {
      const lead = leads.get(row.leadId);
      return lead && row.stepId !== null ? [travellerOf(lead, row, cursorOf(row))] : [];
    });
  const ids = rows.map(({ leadId }) => leadId);
  const outdated = rows.filter((row) => isOutdated(campaign, row));
  const trees = await stepsOfVersions(
    db,
    campaign.id,
    outdated.map(({ version }) => version),
  );
  const unsentBy = await unsentOf(
    db,
    campaign.id,
    outdated.map(({ leadId }) => leadId),
    { lock },
  );
  const receivedOf = await receivedBy(db, campaign.id, ids);
  return rows.flatMap((row) => {
    const lead = leads.get(row.leadId);
    if (!lead) return [];
    const received = receivedOf.get(lead.id) ?? null;
    if (!isOutdated(campaign, row))
      return row.stepId === null ? [] : [travellerOf(lead, row, cursorOf(row), received)];
    const unsent = unsentBy.get(lead.id) ?? [];
    if (unsent.some(({ status }) => status === 'sending')) return [];
    const cursor = cursorAfterEdit(row, {
      tree: trees.get(row.version) ?? [],
      campaign,
      received,
      unsent,
      now,
    });
    return [travellerOf(lead, row, cursor, received, unsent)];
  });
}

const travellerOf = (
  lead: LeadRow,
  { enteredAt }: DueRow,
  cursor: Cursor,
  received: Received | null = null,
  unsent: readonly Unsent[] | null = null,
): Traveller => ({ lead: { ...lead, enteredAt }, cursor, received: received?.steps ?? NOTHING, unsent });

const cursorOf = ({ stepId, isPassed, arrivedAt, enteredAt }: DueRow): Cursor => ({
  stepId,
  isPassed,
  at: arrivedAt ?? enteredAt,
});

/** Where a lead that goes by an earlier version of the steps is in the current one. */
function cursorAfterEdit(
  row: DueRow,
  {
    tree,
    campaign,
    received,
    unsent,
    now,
  }: {
    tree: readonly CampaignStep[];
    campaign: CampaignRow;
    received: Received | null;
    unsent: readonly Unsent[];
    now: Date;
  },
): Cursor {
  const { stepId, isPassed, arrivedAt, enteredAt } = row;
  const old = stepsById(tree);
  const [next] = unsent
    .map((one) => one.stepId)
    .toSorted((a, b) => (old.get(a)?.index ?? 0) - (old.get(b)?.index ?? 0));
  const last = received?.last ?? null;
  const place: Place | null =
    stepId !== null
      ? { stepId, stands: isPassed ? 'after' : 'at' }
      : next !== undefined
        ? { stepId: next, stands: 'before' }
        : last && { stepId: last.stepId, stands: 'after' };
  if (place === null) return { stepId: null, isPassed: false, at: enteredAt };
  // A process of an earlier release, which knows no versions, goes by the current steps.
  const from = old.has(place.stepId) ? tree : campaign.steps;
  const going = nextAfterEdit(from, campaign.steps, place, received?.steps ?? NOTHING);
  // Past the last step.
  if (going === null) return { stepId: place.stepId, isPassed: true, at: now };
  const hasLeft = place.stands === 'at' && going !== stepId;
  const since = stepId === null ? (last?.at ?? enteredAt) : (arrivedAt ?? enteredAt);
  return { stepId: going, isPassed: false, at: hasLeft ? now : since };
}
