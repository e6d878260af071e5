import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { cursorAfterEdit } from '#domain/campaigns/step-edits.ts';
import type { Cursor } from '#domain/campaigns/walk.ts';
import type { CampaignRow } from '#db/queries/campaigns/campaigns.ts';
import { lockLeads, type LeadRow } from '#db/queries/contacts/leads.ts';
import { stepsOfVersions } from '#db/queries/campaigns/versions.ts';
import { resumeDue } from './lead-pauses.ts';
import { type Received, receivedBy, type Unsent, unsentOf } from './revisions.ts';
import { planRuns, type StepMessage } from './step-messages.ts';
import { stopWhenMet } from './stop-conditions.ts';
import { lockConversationsToAssign, lockListsOfSteps } from './step-actions.ts';
import { AtRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import {
  confirmed,
  JUDGE_MS,
  lookOnceMore,
  NOTHING,
  type Traveller,
  type Walked,
  runsOf,
  settleWalks,
  walkLeads,
} from './campaign-walks.ts';

/**
 * Leads that continue at a time, fewer if it takes longer than `JUDGE_MS` to judge them: they are locked, and so are their messages'
 * lines, and under the locks they are judged once more.
 */
const CONTINUE_BATCH = 200;

const SequenceRow = z.object({
  leadId: z.string(),
  version: z.int(),
  stepId: z.string().nullable(),
  isPassed: z.boolean(),
  arrivedAt: z.date().nullable(),
  enteredAt: z.date(),
});
type SequenceRow = z.infer<typeof SequenceRow>;

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
  const isMeant = conditionOf(which, db, campaign, now);
  const found = await findSequences(db, isMeant, which);
  const leads = await lockExisting(db, campaign, found);
  const lists = await lockListsOfSteps(db, campaign);
  const { judged, planned } = await planAhead(db, campaign, leads, found, now);

  const sequences = await lockSequences(db, isMeant, judged);
  await stopOnTheirWay(db, campaign, sequences, now);
  const travellers = await travellersOf(db, campaign, leads, sequences, now, { lock: true });
  const walks = await walkLeads(db, campaign, travellers, now);
  const isActive = campaign.status === 'active';
  const settled = confirmed(planned, isActive ? walks : walks.map((walked) => parked(walked, now)));
  await settleWalks(db, campaign, settled.walks, settled.messages, now, lists);
  if (which === 'outdated') await lookOnceMore(db, campaign, settled.walks, now);
  await awaitOutcomes(db, campaign, sequences, leads, travellers);
  return found.length;
}

/** The condition on the sequences that continue. */
function conditionOf(
  which: 'due' | 'outdated',
  { workspaceId }: TenantDb,
  { id, version }: CampaignRow,
  now: Date,
): FragmentSqlToken {
  const ofCampaign = sql.fragment`workspace_id = ${workspaceId} and campaign_id = ${id}`;
  const isMeant =
    which === 'due'
      ? sql.fragment`due_at <= ${sql.timestamp(now)}`
      : sql.fragment`version < ${version} and lead_id <> all(array(
          select lead_id from messages where ${ofCampaign} and status = 'sending' and lead_id is not null))`;
  return sql.fragment`${ofCampaign} and state = 'running' and paused_at is null and ${isMeant}`;
}

const COLUMNS = sql.fragment`lead_id, version, step_id, is_passed, arrived_at, entered_at`;

const findSequences = (db: TenantDb, isMeant: FragmentSqlToken, which: 'due' | 'outdated') =>
  db.any(sql.type(SequenceRow)`
    select ${COLUMNS} from campaign_leads where ${isMeant}
    order by ${which === 'due' ? sql.fragment`due_at` : sql.fragment`version`} limit ${CONTINUE_BATCH}`);

/** Locks the leads, by id, and looks no more at those that are being deleted. */
async function lockExisting(
  db: TenantDb,
  campaign: CampaignRow,
  sequences: readonly SequenceRow[],
): Promise<ReadonlyMap<string, LeadRow>> {
  const ids = sequences.map(({ leadId }) => leadId);
  const leads = new Map((await lockLeads(db, ids)).map((lead) => [lead.id, lead]));
  const missing = ids.filter((id) => !leads.has(id));
  await unschedule(db, campaign, missing, { version: campaign.version });
  return leads;
}

/**
 * Judges leads and plans their messages, which locks lines and conversations.
 * @returns `judged`: the leads without those that it did not come to.
 */
async function planAhead(
  db: TenantDb,
  campaign: CampaignRow,
  leads: ReadonlyMap<string, LeadRow>,
  sequences: readonly SequenceRow[],
  now: Date,
): Promise<{ judged: string[]; planned: StepMessage[] }> {
  const travellers = await travellersOf(db, campaign, leads, sequences, now);
  const walks = await walkLeads(db, campaign, travellers, now, JUDGE_MS);
  const planned = await planRuns(db, campaign, runsOf(walks), now);
  await lockConversationsToAssign(db, walks);
  const later = new Set(travellers.slice(walks.length).map(({ lead }) => lead.id));
  return { judged: sequences.map(({ leadId }) => leadId).filter((id) => !later.has(id)), planned };
}

/**
 * Locks all running sequences of leads, since what a step does to a lead concerns its other campaigns.
 * @returns those that still continue.
 */
async function lockSequences(
  db: TenantDb,
  isMeant: FragmentSqlToken,
  leadIds: readonly string[],
): Promise<readonly SequenceRow[]> {
  const ofLeads = sql.fragment`lead_id = any(${sql.array(leadIds, 'text')})`;
  await db.query(sql.type(NoRows)`
    select from campaign_leads
    where workspace_id = ${db.workspaceId} and state = 'running' and ${ofLeads}
    order by campaign_id, lead_id for no key update`);
  return db.any(sql.type(SequenceRow)`
    select ${COLUMNS} from campaign_leads where ${isMeant} and ${ofLeads} order by lead_id`);
}

/** Only whether they stop is looked at of leads whose messages are on their way. */
async function stopOnTheirWay(
  db: TenantDb,
  campaign: CampaignRow,
  sequences: readonly SequenceRow[],
  now: Date,
): Promise<void> {
  const ids = sequences
    .filter((row) => row.stepId === null && !isOutdated(campaign, row))
    .map(({ leadId }) => leadId);
  await stopWhenMet(db, campaign, ids, now);
  await unschedule(db, campaign, ids, { version: campaign.version });
}

/** The outcome of what is being sent makes these leads due. */
async function awaitOutcomes(
  db: TenantDb,
  campaign: CampaignRow,
  sequences: readonly SequenceRow[],
  leads: ReadonlyMap<string, LeadRow>,
  travellers: readonly Traveller[],
): Promise<void> {
  const going = new Set(travellers.map(({ lead }) => lead.id));
  const ids = sequences
    .filter((row) => isOutdated(campaign, row) && leads.has(row.leadId) && !going.has(row.leadId))
    .map(({ leadId }) => leadId);
  await unschedule(db, campaign, ids);
}

/** Whether a lead goes by an earlier version of the steps. Only those that were edited have places of their own. */
const isOutdated = ({ stepIds, version }: CampaignRow, sequence: SequenceRow): boolean =>
  stepIds !== null && sequence.version < version;

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

/**
 * The leads that go on from a step, and those that do not go by the current version of the steps yet, from where they are in it. Leaves
 * out those of which a message is being sent.
 * @param options.lock locks the messages of the latter. Requires the locks of their sequences.
 */
async function travellersOf(
  db: TenantDb,
  campaign: CampaignRow,
  leads: ReadonlyMap<string, LeadRow>,
  rows: readonly SequenceRow[],
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
      old: trees.get(row.version) ?? [],
      steps: campaign.steps,
      received,
      unsent,
      now,
    });
    return [travellerOf(lead, row, cursor, received, unsent)];
  });
}

const travellerOf = (
  lead: LeadRow,
  { enteredAt }: SequenceRow,
  cursor: Cursor,
  received: Received | null = null,
  unsent: readonly Unsent[] | null = null,
): Traveller => ({ lead: { ...lead, enteredAt }, cursor, received: received?.steps ?? NOTHING, unsent });

const cursorOf = ({ stepId, isPassed, arrivedAt, enteredAt }: SequenceRow): Cursor => ({
  stepId,
  isPassed,
  at: arrivedAt ?? enteredAt,
});
