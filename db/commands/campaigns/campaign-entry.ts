import { sql } from 'slonik';
import { z } from 'zod';
import { planSteps, type PlannedStep } from '#domain/campaigns/campaign-schedule.ts';
import {
  type CampaignStep,
  isMessageStep,
  type MessageStep,
  messageSteps,
  type Placed,
  placedSteps,
  stepNumbers,
  stepsById,
} from '#domain/campaigns/step.ts';
import { nextAfterEdit, type Place } from '#domain/campaigns/step-edits.ts';
import { conditionsOf, type Cursor, type Walk, walk } from '#domain/campaigns/walk.ts';
import { needsOf } from '#domain/campaigns/condition.ts';
import { addressOn } from '#domain/campaigns/campaign-schedule.ts';
import { consentKey } from '#domain/contacts/consent.ts';
import { newId } from '#domain/base/ids.ts';
import { type PhonePlace, type SendTimes, wakingHours } from '#domain/sending/quiet-hours.ts';
import { textsOf, variantFor } from '#domain/campaigns/step-variants.ts';
import type { VariantName } from '#domain/messages/variant-name.ts';
import { placeOfRecipient } from '#db/phones/phone-places.ts';
import { type CampaignRow, campaignWindow } from '#db/queries/campaigns/campaigns.ts';
import { consentedAmong } from '#db/queries/contacts/consents.ts';
import { answerTimes } from '#db/queries/messages/contact-relation.ts';
import { factsOf, type JudgedLead } from '#db/queries/campaigns/facts.ts';
import { findLeads, lockLeads, LeadRow } from '#db/queries/contacts/leads.ts';
import { findSegment, leadsFor, nextInSegment } from '#db/queries/contacts/segments.ts';
import { enters } from '#db/queries/campaigns/audience.ts';
import { stepsOfVersions } from '#db/queries/campaigns/versions.ts';
import { chooseLines } from '#db/commands/messages/line-choice.ts';
import { personalize, PERSONALIZATION } from './personalizations.ts';
import { LEAD_PAUSED, resumeDue } from './lead-pauses.ts';
import {
  cancelRemoved,
  type Kept,
  PREVIOUS_STEP,
  type Received,
  receivedBy,
  reviseMessages,
  type Unsent,
  unsentOf,
} from './revisions.ts';
import { stepTexts } from './step-texts.ts';
import { insertDecisions, stopWhenMet } from './stop-conditions.ts';
import { carryOut, lockConversationsToAssign, lockListsOfSteps } from './step-actions.ts';
import { recordset, ROWS_INSERTED } from '#db/connection/recordset.ts';
import { AtRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { campaignWorkflowId } from '#workflows/protocol/workflow-ids.ts';
import { wake, wakeLines } from '#db/wakes/wakes.ts';
import { workspacePace, workspaceTimezone } from '#db/queries/accounts/workspaces.ts';

export type EnteringLead = LeadRow;

/** A message of a lead's sequence. */
export interface StepMessage extends PlannedStep {
  id: string;
  /** The number of the step (`stepNumbers`). */
  stepIndex: number;
  lead: EnteringLead;
  lineId: string | null;
  /** Null: the step has none. */
  variant: VariantName | null;
}

/**
 * The next leads of a campaign's list or segment after `enteredTo`, in id order, up to some hundreds.
 * @returns `last`: up to where the list or segment has been read; null: to its end.
 */
export async function nextLeads(
  db: TenantDb,
  campaign: CampaignRow,
  limit: number,
  now: Date,
): Promise<{ leads: EnteringLead[]; last: string | null }> {
  const { listId, segmentId, enteredTo } = campaign;
  if (segmentId !== null) {
    const segment = await findSegment(db, segmentId);
    if (!segment) return { leads: [], last: null };
    return nextInSegment(db, segment.conditions, { after: enteredTo, only: enters(db, campaign) }, now);
  }
  if (listId === null) return { leads: [], last: null };
  const rows = await db.any(sql.type(LeadRow)`
    select l.* from (
      select distinct lead_id from list_addresses
      where workspace_id = ${db.workspaceId} and list_id = ${listId} and lead_id > ${enteredTo}
      order by lead_id limit ${limit}
    ) a
    join leads l on l.workspace_id = ${db.workspaceId} and l.id = a.lead_id
    order by l.id`);
  return { leads: [...rows], last: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
}

const CandidateRow = z.object({ leadId: z.string(), isSentOn: z.boolean() });

/**
 * The leads that changed and are in the segment of a live campaign now, and those that another campaign sent on. Forgets those that it
 * looked at.
 */
export async function changedLeads(
  db: TenantDb,
  { id, segmentId }: CampaignRow,
  limit: number,
  now: Date,
): Promise<EnteringLead[]> {
  const candidates = await db.any(sql.type(CandidateRow)`
    delete from campaign_candidates where workspace_id = ${db.workspaceId} and campaign_id = ${id} and lead_id in (
      select lead_id from campaign_candidates where workspace_id = ${db.workspaceId} and campaign_id = ${id}
      order by lead_id limit ${limit})
    returning lead_id, is_sent_on`);
  const leads = await findLeads(
    db,
    candidates.map(({ leadId }) => leadId),
  );
  const sentOn = new Set(candidates.flatMap(({ leadId, isSentOn }) => (isSentOn ? [leadId] : [])));
  const [entering, judged] = [
    [...leads.values()].filter((lead) => sentOn.has(lead.id)),
    [...leads.values()].filter((lead) => !sentOn.has(lead.id)),
  ];
  const segment = segmentId === null ? null : await findSegment(db, segmentId);
  return [...entering, ...(segment ? await leadsFor(db, judged, segment.conditions, now) : [])];
}

/** Whether leads wait for `changedLeads`. */
export const haveLeadsChanged = (db: TenantDb, id: string): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select 1 from campaign_candidates where workspace_id = ${db.workspaceId} and campaign_id = ${id}`);

/** A lead that comes to messages which follow each other. */
export interface Run {
  lead: EnteringLead;
  run: readonly Placed<MessageStep>[];
  /** From when the delay of the first counts. */
  from: Date;
  /** The steps among them that the lead does not get again. */
  received: ReadonlySet<string>;
  /** The steps among them whose messages it has. */
  kept: ReadonlySet<string>;
}

/**
 * Plans the messages of leads that enter now, up to the first decision: those that can reach them, with their earliest time and line.
 * Stores as little as `planRuns`.
 */
export async function planEntry(
  db: TenantDb,
  campaign: CampaignRow,
  leads: readonly EnteringLead[],
  now: Date,
): Promise<StepMessage[]> {
  const walks = await walkLeads(
    db,
    campaign,
    leads.map((lead) => startOf(lead, now)),
    now,
  );
  return planRuns(db, campaign, runsOf(walks), now);
}

/**
 * Plans messages that follow each other. Stores only the position of the lines' round-robin, and the contacts' conversations, which it
 * locks: consents are read afterwards.
 */
async function planRuns(
  db: TenantDb,
  campaign: CampaignRow,
  runs: readonly Run[],
  now: Date,
): Promise<StepMessage[]> {
  const window = campaignWindow(campaign, await workspaceTimezone(db));
  const planned = runs.flatMap(({ lead, run, from, received, kept }) =>
    planSteps(run, lead, window, from, received)
      .filter(({ stepId }) => !kept.has(stepId))
      .map((step) => ({ ...step, lead })),
  );
  const chosen = await chooseLines(
    db,
    planned.map((step) => ({
      ...step,
      pinnedLineId: null,
      poolId: campaign.poolId,
      eligibleLineIds: campaign.eligibleLineIds,
      stickinessPolicy: campaign.stickinessPolicy,
    })),
  );
  const numbers = stepNumbers(campaign);
  return chosen.map(({ stepId, channel, address, at, lead, lineId }) => ({
    id: newId(now),
    stepIndex: numbers.get(stepId) ?? 0,
    stepId,
    channel,
    address,
    at,
    lead,
    lineId,
    variant: variantOf(campaign, stepId, lead.id),
  }));
}

function variantOf(campaign: CampaignRow, stepId: string, leadId: string): VariantName | null {
  const step = stepsById(campaign.steps).get(stepId)?.step;
  if (!step || !isMessageStep(step)) return null;
  const stepIndex = stepNumbers(campaign).get(stepId) ?? 0;
  return variantFor(step, { campaignId: campaign.id, stepIndex, leadId });
}

/**
 * Enters leads into a campaign: they go as far as its steps allow now, and the messages that follow are created; the first is queued.
 * Leads that entered before are skipped. Requires `lockCampaign`.
 * @returns the number of leads that entered, of those among them that no message can reach or that were skipped without consent, and of
 * messages.
 */
export async function enterLeads(
  db: TenantDb,
  campaign: CampaignRow,
  leads: readonly EnteringLead[],
  now: Date,
): Promise<{ admitted: number; unreachable: number; noConsent: number; messageCount: number }> {
  const fresh = await admit(db, campaign, leads, now);
  const admitted = fresh.size;
  const steps = messageSteps(campaign.steps).map(({ step }) => step);
  const entering = leads.filter(({ id }) => fresh.has(id));
  const unreachable = entering.filter(
    (lead) => steps.length > 0 && !steps.some((step) => reaches(lead, step)),
  );
  await markSkipped(db, campaign.id, new Set(unreachable.map(({ id }) => id)), 'no_address');
  const gone = new Set(unreachable);
  const walks = await walkLeads(
    db,
    campaign,
    entering.filter((lead) => !gone.has(lead)).map((lead) => startOf(lead, now)),
    now,
  );
  // What a step does to a lead needs its lock, which comes before those that this transaction has.
  const acting = walks.filter(({ does }) => does.length > 0);
  const going = walks.filter(({ does }) => does.length === 0);
  await letContinue(db, campaign, acting, now);
  const planned = await planRuns(db, campaign, runsOf(going), now);
  const { messageCount, noConsent } = await settleWalks(db, campaign, going, planned, now);
  await lookOnceMore(db, campaign, going, now);
  return { admitted, unreachable: unreachable.length, noConsent, messageCount };
}

/** Leaves leads at the first step, from where the campaign's workflow lets them continue at once. */
async function letContinue(
  db: TenantDb,
  { id, steps, status }: CampaignRow,
  walks: readonly Walked[],
  now: Date,
): Promise<void> {
  const first = placedSteps(steps)[0];
  if (walks.length === 0 || !first) return;
  const ids = sql.array(
    walks.map(({ lead }) => lead.id),
    'text',
  );
  await db.query(sql.type(NoRows)`
    update campaign_leads set step_id = ${first.id}, arrived_at = ${sql.timestamp(now)}, due_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and campaign_id = ${id} and lead_id = any(${ids})`);
  if (status === 'active') wake(db, campaignWorkflowId(id), now, 'progressDue');
}

/**
 * Has leads that came to wait for a fact be judged again when they have entered: until then nobody saw them, so a change meanwhile
 * let none of them continue.
 */
async function lookOnceMore(
  db: TenantDb,
  { id, status }: CampaignRow,
  walks: readonly Walked[],
  now: Date,
): Promise<void> {
  const waiting = walks.filter(({ rest }) => rest.kind === 'waits' && rest.isAwaitingFacts);
  if (waiting.length === 0) return;
  const ids = sql.array(
    waiting.map(({ lead }) => lead.id),
    'text',
  );
  await db.query(sql.type(NoRows)`
    update campaign_leads set due_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and campaign_id = ${id} and lead_id = any(${ids}) and state = 'running' and is_awaiting`);
  if (status === 'active') wake(db, campaignWorkflowId(id), now, 'progressDue');
}

/** Leads that continue at a time: they are locked, and so are their messages' lines. */
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
  const ids = waiting.map(({ leadId }) => leadId);
  const leads = new Map((await lockLeads(db, ids)).map((lead) => [lead.id, lead]));
  await rest(
    db,
    campaign,
    ids.filter((id) => !leads.has(id)),
  );
  const lists = await lockListsOfSteps(db, campaign);
  const before = await walkLeads(db, campaign, await travellersOf(db, campaign, leads, waiting, now), now);
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
  await rest(db, campaign, onTheirWay);
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
  const found = new Set(travellers.map(({ lead }) => lead.id));
  const beingSent = locked.filter(
    (row) => isOutdated(campaign, row) && leads.has(row.leadId) && !found.has(row.leadId),
  );
  await unschedule(
    db,
    campaign.id,
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

/** Whether a message that was not sent yet is still the one of a step. */
const isKept = (unsent: readonly Unsent[] | null, { id, step }: Placed<MessageStep>): boolean =>
  unsent?.some(({ stepId, channel }) => stepId === id && channel === step.messageType) ?? false;

/** Looks no more at leads that are on their way, or are being deleted. */
async function rest(db: TenantDb, { id, version }: CampaignRow, leadIds: readonly string[]): Promise<void> {
  if (leadIds.length === 0) return;
  await db.query(sql.type(NoRows)`
    update campaign_leads set due_at = null, version = ${version}
    where workspace_id = ${db.workspaceId} and campaign_id = ${id} and lead_id = any(${sql.array([...leadIds], 'text')})`);
}

async function unschedule(db: TenantDb, campaignId: string, leadIds: readonly string[]): Promise<void> {
  if (leadIds.length === 0) return;
  await db.query(sql.type(NoRows)`
    update campaign_leads set due_at = null
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and lead_id = any(${sql.array([...leadIds], 'text')})`);
}

/** Locks all running sequences of leads, since what a step does to a lead concerns its other campaigns. */
async function lockRunning(db: TenantDb, leadIds: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    select from campaign_leads
    where workspace_id = ${db.workspaceId} and state = 'running' and lead_id = any(${sql.array([...leadIds], 'text')})
    order by campaign_id, lead_id for no key update`);
}

/** A lead on its way. */
interface Traveller {
  lead: JudgedLead;
  cursor: Cursor;
  /** The steps that it does not take again. */
  received: ReadonlySet<string>;
  /** The messages that it has from an earlier version of the steps; null: it goes by the current one. */
  unsent: readonly Unsent[] | null;
}

type Walked = Traveller & Walk;

const NOTHING: ReadonlySet<string> = new Set();

const startOf = (lead: EnteringLead, now: Date): Traveller => ({
  lead: { ...lead, enteredAt: now },
  cursor: { stepId: null, isPassed: false, at: now },
  received: NOTHING,
  unsent: null,
});

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

const reaches = (lead: EnteringLead, { messageType }: MessageStep): boolean =>
  addressOn(messageType, lead) !== null;

const runsOf = (walks: readonly Walked[]): Run[] =>
  walks.flatMap(({ lead, received, unsent, rest }) =>
    rest.kind === 'sends'
      ? [
          {
            lead,
            run: rest.run,
            from: rest.from,
            received,
            kept: new Set(rest.run.filter((one) => isKept(unsent, one)).map(({ id }) => id)),
          },
        ]
      : [],
  );

/** Walks on with leads, by what is known about them now. */
async function walkLeads(
  db: TenantDb,
  { id, steps, stopWhen }: CampaignRow,
  travellers: readonly Traveller[],
  now: Date,
): Promise<Walked[]> {
  const facts = await factsOf(
    db,
    travellers.map(({ lead }) => lead),
    needsOf([...stopWhen, ...conditionsOf(steps)]),
    id,
  );
  return travellers.flatMap((traveller) => {
    const known = facts.get(traveller.lead.id);
    if (!known) return [];
    const walked = walk(steps, traveller.cursor, {
      facts: known,
      reaches: (step) => reaches(traveller.lead, step),
      received: traveller.received,
      stopWhen,
      now,
    });
    return [{ ...traveller, ...walked }];
  });
}

/** Stores how far leads came: what was decided and done, where they wait, and the messages that they get next. */
async function settleWalks(
  db: TenantDb,
  campaign: CampaignRow,
  walks: readonly Walked[],
  planned: readonly StepMessage[],
  now: Date,
  lists: ReadonlySet<string> = new Set(),
): Promise<{ messageCount: number; noConsent: number }> {
  const { allowed: messages, refused } = await withConsent(db, campaign, planned);
  const revised = await revisionOf(db, campaign, walks, messages, now);
  const sending = new Set([...messages.map(({ lead }) => lead.id), ...revised.leads]);
  const withoutConsent = new Set(refused.map(({ lead }) => lead.id).filter((id) => !sending.has(id)));
  await insertDecisions(
    db,
    campaign.id,
    walks.map(({ lead, passed }) => ({ leadId: lead.id, passed })),
    now,
  );
  for (const { lead, does } of walks)
    if (does.length > 0) await carryOut(db, campaign, lead, does, { now, lists });
  await cancelRemoved(db, revised.removed, now);
  await reviseMessages(db, campaign, revised.kept, now);
  await storePositions(
    db,
    campaign,
    walks.filter(({ lead }) => !withoutConsent.has(lead.id)),
  );
  await markSkipped(db, campaign.id, withoutConsent, 'no_consent');
  if (messages.length > 0) {
    const first = firstSteps(messages).filter(
      ({ lead, stepId }) => (revised.first.get(lead.id) ?? stepId) === stepId,
    );
    await insertStepMessages(db, campaign, messages, first, now);
    await wakeFirst(db, campaign, first, now);
  }
  return { messageCount: messages.length, noConsent: withoutConsent.size };
}

/** What becomes of the messages that leads have from an earlier version of the steps, beside those that they get now. */
async function revisionOf(
  db: TenantDb,
  campaign: CampaignRow,
  walks: readonly Walked[],
  messages: readonly StepMessage[],
  now: Date,
): Promise<{
  kept: readonly Kept[];
  removed: readonly string[];
  /** The leads that keep messages. */
  leads: ReadonlySet<string>;
  /** The step that comes next, of the leads that are revised. */
  first: ReadonlyMap<string, string>;
}> {
  const window = campaignWindow(campaign, await workspaceTimezone(db));
  const inserted = new Set(messages.map(({ lead, stepId }) => `${lead.id} ${stepId}`));
  const placed = stepsById(campaign.steps);
  const kept: Kept[] = [];
  const removed: string[] = [];
  const leads = new Set<string>();
  const first = new Map<string, string>();
  for (const { lead, received, unsent, rest } of walks) {
    if (unsent === null) continue;
    const run = rest.kind === 'sends' ? rest.run : [];
    const stays = run.filter((one) => isKept(unsent, one)).map(({ id }) => id);
    const due = rest.kind === 'sends' ? planSteps(run, lead, window, rest.from, received) : [];
    const coming = due.filter(({ stepId }) => stays.includes(stepId) || inserted.has(`${lead.id} ${stepId}`));
    const [next] = coming;
    if (next) first.set(lead.id, next.stepId);
    const taken = new Set<string>();
    for (const message of unsent) {
      const { id, stepId, held, holdReason, scheduledAt } = message;
      const plan = coming.find((one) => one.stepId === stepId);
      const step = placed.get(stepId)?.step;
      if (
        !plan ||
        !step ||
        !isMessageStep(step) ||
        step.messageType !== message.channel ||
        taken.has(stepId)
      ) {
        removed.push(id);
        continue;
      }
      taken.add(stepId);
      leads.add(lead.id);
      const isHeld = plan !== next;
      const waits = held && (holdReason === PREVIOUS_STEP || holdReason === LEAD_PAUSED);
      const planned = holdReason === LEAD_PAUSED ? scheduledAt : plan.at;
      const at = isHeld ? plan.at : waits ? (planned > now ? planned : now) : null;
      const isVariant = textsOf(step).some(({ variant }) => variant === message.variant);
      const variant = isVariant ? message.variant : variantOf(campaign, stepId, lead.id);
      kept.push({ id, stepId, variant, at, isHeld });
    }
  }
  return { kept, removed, leads, first };
}

/** Stores where leads are now. Those that enter a campaign which only sends messages are where they were. */
async function storePositions(
  db: TenantDb,
  { id: campaignId, version }: CampaignRow,
  walks: readonly Walked[],
): Promise<void> {
  const rows = walks
    .filter(({ cursor, unsent, rest }) => cursor.stepId !== null || unsent !== null || rest.kind !== 'sends')
    .map(({ lead, rest }) => ({
      leadId: lead.id,
      state: rest.kind === 'ends' ? 'finished' : rest.kind === 'stops' ? 'stopped' : 'running',
      stopReason: rest.kind === 'stops' ? 'stop_condition' : null,
      ...(rest.kind === 'waits'
        ? { stepId: rest.stepId, arrivedAt: rest.at, dueAt: rest.until, isAwaiting: rest.isAwaitingFacts }
        : { stepId: null, arrivedAt: null, dueAt: null, isAwaiting: false }),
    }));
  if (rows.length === 0) return;
  await db.query(sql.type(NoRows)`
    update campaign_leads l set state = n.state, stop_reason = n.stop_reason, step_id = n.step_id, is_passed = false, arrived_at = n.arrived_at, due_at = n.due_at,
      is_awaiting = n.is_awaiting, version = ${version}, updated_at = now()
    from ${recordset('campaign_leads', rows)} n
    where l.workspace_id = ${db.workspaceId} and l.campaign_id = ${campaignId} and l.lead_id = n.lead_id and l.state = 'running'`);
}

/** Wakes the personalizer, or the lines, for the first steps. */
async function wakeFirst(
  db: TenantDb,
  campaign: CampaignRow,
  first: readonly StepMessage[],
  now: Date,
): Promise<void> {
  if (campaign.needsAiPersonalization && first.length > 0) {
    const rows = first.map(({ id, at }) => [id, at.toISOString()]);
    const due = sql.fragment`select * from ${sql.unnest(rows, ['text', 'timestamptz'])} as t (message_id, at)`;
    await personalize(db, campaign, due, now);
    return;
  }
  if (campaign.status !== 'active') return;
  wakeLines(
    db,
    first.map(({ lineId, at }) => ({ lineId, scheduledAt: at })),
  );
}

const LeadIdRow = z.object({ leadId: z.string() });

/** Records the leads that enter. @returns their ids, without those that entered before. */
async function admit(
  db: TenantDb,
  { id: campaignId, version }: CampaignRow,
  leads: readonly EnteringLead[],
  now: Date,
): Promise<Set<string>> {
  const ids = await db.anyFirst(sql.type(LeadIdRow)`
    insert into campaign_leads (workspace_id, campaign_id, lead_id, version, entered_at)
    select ${db.workspaceId}, ${campaignId}, l.id, ${version}, ${sql.timestamp(now)} from ${sql.unnest(
      leads.map(({ id }) => [id]),
      ['text'],
    )} as l (id)
    on conflict do nothing returning lead_id`);
  return new Set(ids);
}

/** The steps that their leads have consented to, if the campaign requires it. */
async function withConsent(
  db: TenantDb,
  { requireConsent }: CampaignRow,
  steps: readonly StepMessage[],
): Promise<{ allowed: readonly StepMessage[]; refused: readonly StepMessage[] }> {
  if (!requireConsent) return { allowed: steps, refused: [] };
  const consented = await consentedAmong(db, steps);
  const isAllowed = ({ address, channel }: StepMessage) => consented.has(consentKey(address, channel));
  return { allowed: steps.filter(isAllowed), refused: steps.filter((step) => !isAllowed(step)) };
}

/** Stops leads that get no message at all. */
async function markSkipped(
  db: TenantDb,
  campaignId: string,
  leadIds: ReadonlySet<string>,
  reason: 'no_address' | 'no_consent',
): Promise<void> {
  if (leadIds.size === 0) return;
  await db.query(sql.type(NoRows)`
    update campaign_leads set state = 'stopped', stop_reason = ${reason}, updated_at = now()
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and lead_id = any(${sql.array([...leadIds], 'text')})`);
}

const firstSteps = (messages: readonly StepMessage[]): StepMessage[] =>
  messages.filter(({ lead }, index) => messages[index - 1]?.lead.id !== lead.id);

/** The place of a lead that gets a message: from its time zone, otherwise from its number. */
function recipientPlace(
  { timezone, phones }: Pick<EnteringLead, 'timezone' | 'phones'>,
  address: string,
): PhonePlace {
  const place = placeOfRecipient({ address, recipientPhone: phones[0] ?? null });
  return timezone === null ? place : { ...place, zones: [timezone] };
}

/** When the steps of a campaign may be sent: within its window, and outside the recipients' quiet hours. */
export async function stepTimes(
  db: TenantDb,
  campaign: CampaignRow,
): Promise<(step: Pick<StepMessage, 'lead' | 'address'>) => SendTimes> {
  const { timezone, quiet } = await workspacePace(db);
  const window = campaignWindow(campaign, timezone);
  return ({ lead, address }) => {
    const recipient = {
      kind: 'campaign',
      campaignId: campaign.id,
      ...recipientPlace(lead, address),
    } as const;
    return { window, quiet: wakingHours(quiet, recipient, timezone) };
  };
}

/** Inserts all messages in one statement, with each text of a step only once; windows are read from the campaign's row. */
async function insertStepMessages(
  db: TenantDb,
  campaign: CampaignRow,
  messages: readonly StepMessage[],
  firstMessages: readonly StepMessage[],
  now: Date,
): Promise<void> {
  const first = new Set(firstMessages.map(({ id }) => id));
  const used = new Set(messages.map(({ stepId }) => stepId));
  const batchIds = new Map<string, string>();
  const answersUntil = await answerTimes(db, new Set(messages.map(({ address }) => address)));
  const rows = messages.map(({ id, lead, lineId, stepIndex, stepId, variant, address, at }, position) => {
    const batchId = batchIds.get(lead.id) ?? newId(now);
    batchIds.set(lead.id, batchId);
    const heldFor = first.has(id)
      ? campaign.needsAiPersonalization
        ? PERSONALIZATION
        : null
      : PREVIOUS_STEP;
    const { zones, region } = recipientPlace(lead, address);
    return {
      id,
      status: at > now ? 'scheduled' : 'pending',
      holdReason: heldFor,
      held: heldFor !== null,
      leadId: lead.id,
      lineId,
      stepIndex,
      stepId,
      variant,
      address,
      recipientPhone: lead.phones[0] ?? null,
      recipientEmail: lead.emails[0] ?? null,
      recipientName: `${lead.firstName} ${lead.lastName}`.trim() || null,
      recipientZones: zones,
      recipientRegion: region,
      scheduledAt: at,
      answersUntil: answersUntil.get(address) ?? null,
      batchId,
      arrival: position,
    };
  });
  await db.query(sql.type(NoRows)`
    insert into messages (
      workspace_id, id, channel, status, hold_reason, held, line_id, eligible_line_ids, pool_id, stickiness_policy, address,
      recipient_phone, recipient_email, recipient_name, lead_id, body, subject, attachment_urls, scheduled_at,
      window_timezone, window_start, window_end, window_days, recipient_zones, recipient_region, answers_until, sms_fallback_enabled, sms_fallback_message,
      source, batch_id, step_index, step_id, variant, campaign_id, campaign_version, created_by_user_id, created_at, updated_at)
    -- Of the select, since a cluster would send those of the insert to every node.
    with ${stepTexts(campaign.steps, used)}
    select k.workspace_id, m.id, s.channel, m.status, m.hold_reason, m.held, m.line_id, k.eligible_line_ids, k.pool_id, k.stickiness_policy,
      m.address, m.recipient_phone, m.recipient_email, m.recipient_name, m.lead_id, s.body, s.subject, s.attachment_urls, m.scheduled_at,
      case when k.window_start is null and k.window_end is null and k.window_days is null then null
        else coalesce(k.timezone, w.timezone) end,
      k.window_start, k.window_end, k.window_days, m.recipient_zones, m.recipient_region, m.answers_until, s.sms_fallback_enabled, s.sms_fallback_message,
      'campaign', m.batch_id, m.step_index, m.step_id, m.variant, k.id, k.version, k.created_by_user_id, ${sql.timestamp(now)}, ${sql.timestamp(now)}
    from campaigns k
    join workspaces w on w.id = k.workspace_id
    cross join ${recordset('messages', rows)} m
    join steps s on s.step_id = m.step_id and s.variant is not distinct from m.variant
    where k.workspace_id = ${db.workspaceId} and k.id = ${campaign.id}
    order by m.arrival
    ${ROWS_INSERTED}`);
}
