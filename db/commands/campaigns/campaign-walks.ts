import { sql } from 'slonik';
import { currentTime } from '#domain/base/clock.ts';
import { planSteps, type PlannedStep } from '#domain/campaigns/campaign-schedule.ts';
import {
  isMessageStep,
  type MessageStep,
  type Placed,
  stepNumbers,
  stepsById,
} from '#domain/campaigns/step.ts';
import { conditionsOf, type Cursor, type Walk, walk } from '#domain/campaigns/walk.ts';
import { needsOf } from '#domain/campaigns/condition.ts';
import { addressOn } from '#domain/campaigns/campaign-schedule.ts';
import { consentKey } from '#domain/contacts/consent.ts';
import { newId } from '#domain/base/ids.ts';
import { runInTurns } from '#domain/base/turns.ts';
import { type PhonePlace, type SendTimes, wakingHours } from '#domain/sending/quiet-hours.ts';
import { textsOf, variantFor } from '#domain/campaigns/step-variants.ts';
import type { VariantName } from '#domain/messages/variant-name.ts';
import { placeOfRecipient } from '#db/phones/phone-places.ts';
import { type CampaignRow, campaignWindow } from '#db/queries/campaigns/campaigns.ts';
import { consentedAmong } from '#db/queries/contacts/consents.ts';
import { answerTimes } from '#db/queries/messages/contact-relation.ts';
import { factsOf, type JudgedLead } from '#db/queries/campaigns/facts.ts';
import type { LeadRow } from '#db/queries/contacts/leads.ts';
import { chooseLines } from '#db/commands/messages/line-choice.ts';
import { personalize, PERSONALIZATION } from './personalizations.ts';
import { LEAD_PAUSED } from './lead-pauses.ts';
import { cancelRemoved, type Kept, PREVIOUS_STEP, reviseMessages, type Unsent } from './revisions.ts';
import { stepTexts } from './step-texts.ts';
import { insertDecisions } from './stop-conditions.ts';
import { callWebhooks, carryOut } from './step-actions.ts';
import { recordset, ROWS_INSERTED } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wakeLines } from '#db/wakes/wakes.ts';
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

/** A lead that comes to messages which follow each other. */
interface Run {
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
 * Plans messages that follow each other. Stores only the position of the lines' round-robin, and the contacts' conversations, which it
 * locks: consents are read afterwards.
 */
export async function planRuns(
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

/** The variant of a step that the lead gets. */
export function variantOf(campaign: CampaignRow, stepId: string, leadId: string): VariantName | null {
  const step = stepsById(campaign.steps).get(stepId)?.step;
  if (!step || !isMessageStep(step)) return null;
  const stepIndex = stepNumbers(campaign).get(stepId) ?? 0;
  return variantFor(step, { campaignId: campaign.id, stepIndex, leadId });
}

/** The variant of a message after an edit: its own, unless its step has no such one any more. */
export function variantAfterEdit(
  campaign: CampaignRow,
  { stepId, variant: own }: { stepId: string; variant: VariantName | null },
  leadId: string,
): VariantName | null {
  const step = stepsById(campaign.steps).get(stepId)?.step;
  const remains = step && isMessageStep(step) && textsOf(step).some(({ variant }) => variant === own);
  return remains ? own : variantOf(campaign, stepId, leadId);
}

/** Whether a message that was not sent yet is still the one of a step. */
export const isKept = (unsent: readonly Unsent[] | null, { id, step }: Placed<MessageStep>): boolean =>
  unsent?.some(({ stepId, channel }) => stepId === id && channel === step.messageType) ?? false;

/** A lead on its way. */
export interface Traveller {
  lead: JudgedLead;
  cursor: Cursor;
  /** The steps that it does not take again. */
  received: ReadonlySet<string>;
  /** The messages that it has from an earlier version of the steps; null: it goes by the current one. */
  unsent: readonly Unsent[] | null;
}

export type Walked = Traveller & Walk;

export const NOTHING: ReadonlySet<string> = new Set();

export const reaches = (lead: EnteringLead, { messageType }: MessageStep): boolean =>
  addressOn(messageType, lead) !== null;

export const runsOf = (walks: readonly Walked[]): Run[] =>
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

/** How long conditions are judged in one transaction. */
export const JUDGE_MS = 1000;

/**
 * Walks on with leads, by what is known about them now.
 * @param withinMs leaves out those to which it does not come in this time. It comes to the first.
 */
export async function walkLeads(
  db: TenantDb,
  { id, steps, stopWhen }: CampaignRow,
  travellers: readonly Traveller[],
  now: Date,
  withinMs = Infinity,
): Promise<Walked[]> {
  const facts = await factsOf(
    db,
    travellers.map(({ lead }) => lead),
    needsOf([...stopWhen, ...conditionsOf(steps)]),
    id,
  );
  const begun = performance.now();
  return runInTurns(walkAll());

  function* walkAll(): Generator<void, Walked[]> {
    const all: Walked[] = [];
    for (const traveller of travellers) {
      if (all.length > 0 && performance.now() - begun > withinMs) break;
      const known = facts.get(traveller.lead.id);
      if (!known) continue;
      const walked = yield* walk(steps, traveller.cursor, {
        facts: known,
        reaches: (step) => reaches(traveller.lead, step),
        received: traveller.received,
        stopWhen,
        now,
      });
      all.push({ ...traveller, ...walked });
    }
    return all;
  }
}

/** Stores how far leads came: what was decided and done, where they wait, and the messages that they get next. */
export async function settleWalks(
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
    if (does.length > 0) {
      const changed = await carryOut(db, campaign, lead, does, { now, lists });
      await callWebhooks(db, campaign, changed, does, now);
    }
  await cancelRemoved(db, revised.removed, now);
  await cancelRemoved(db, revised.stopped, now, 'stop_condition');
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

interface Revision {
  kept: readonly Kept[];
  removed: readonly string[];
  /** Those of leads for whom a condition to stop holds. */
  stopped: readonly string[];
  /** The leads that keep messages. */
  leads: ReadonlySet<string>;
  /** The step that comes next, of the leads that are revised. */
  first: ReadonlyMap<string, string>;
}

const NOTHING_REVISED: Revision = { kept: [], removed: [], stopped: [], leads: new Set(), first: new Map() };

/** What becomes of the messages that leads have from an earlier version of the steps, beside those that they get now. */
async function revisionOf(
  db: TenantDb,
  campaign: CampaignRow,
  walks: readonly Walked[],
  messages: readonly StepMessage[],
  now: Date,
): Promise<Revision> {
  if (walks.every(({ unsent }) => unsent === null)) return NOTHING_REVISED;
  const window = campaignWindow(campaign, await workspaceTimezone(db));
  const inserted = new Set(messages.map(({ lead, stepId }) => `${lead.id} ${stepId}`));
  const placed = stepsById(campaign.steps);
  const kept: Kept[] = [];
  const [removed, stopped]: [string[], string[]] = [[], []];
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
        (rest.kind === 'stops' ? stopped : removed).push(id);
        continue;
      }
      taken.add(stepId);
      leads.add(lead.id);
      const isHeld = plan !== next;
      const waits = held && (holdReason === PREVIOUS_STEP || holdReason === LEAD_PAUSED);
      const planned = holdReason === LEAD_PAUSED ? scheduledAt : plan.at;
      const at = isHeld ? plan.at : waits ? (planned > now ? planned : now) : null;
      kept.push({ id, stepId, variant: variantAfterEdit(campaign, message, lead.id), at, isHeld });
    }
  }
  return { kept, removed, stopped, leads, first };
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
      is_awaiting = n.is_awaiting, version = ${version}, updated_at = ${sql.timestamp(currentTime())}
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
export async function markSkipped(
  db: TenantDb,
  campaignId: string,
  leadIds: ReadonlySet<string>,
  reason: 'no_address' | 'no_consent',
): Promise<void> {
  if (leadIds.size === 0) return;
  await db.query(sql.type(NoRows)`
    update campaign_leads set state = 'stopped', stop_reason = ${reason}, updated_at = ${sql.timestamp(currentTime())}
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
