import { sql } from 'slonik';
import { currentTime } from '#domain/base/clock.ts';
import { type PlannedStep, planSteps } from '#domain/campaigns/campaign-schedule.ts';
import type { MessageStep, Placed } from '#domain/campaigns/step.ts';
import { conditionsOf, type Cursor, type Walk, walk } from '#domain/campaigns/walk.ts';
import { needsOf } from '#domain/campaigns/judge.ts';
import { runInTurns } from '#domain/base/turns.ts';
import type { SendWindow } from '#domain/sending/send-window.ts';
import { type CampaignRow, campaignWindow } from '#db/queries/campaigns/campaigns.ts';
import { factsOf, type JudgedLead } from '#db/queries/campaigns/facts.ts';
import { LOOK_AGAIN_MS } from './campaign-stops.ts';
import { LEAD_PAUSED } from './lead-pauses.ts';
import { cancelRemoved, type Kept, PREVIOUS_STEP, reviseMessages, type Unsent } from './revisions.ts';
import { insertDecisions } from './stop-conditions.ts';
import { callWebhooks, carryOut } from './step-actions.ts';
import {
  insertStepMessages,
  reaches,
  type Run,
  type StepMessage,
  variantAfterEdit,
  wakeFirst,
  withConsent,
} from './step-messages.ts';
import { recordset } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import { wake } from '#db/wakes/wakes.ts';
import { campaignWorkflowId } from '#workflows/protocol/workflow-ids.ts';

/** The steps whose messages a lead has from an earlier version of them. */
function keptOf(run: readonly Placed<MessageStep>[], unsent: readonly Unsent[] | null): ReadonlySet<string> {
  const isKept = ({ id, step }: Placed<MessageStep>): boolean =>
    unsent?.some(({ stepId, channel }) => stepId === id && channel === step.messageType) ?? false;
  return new Set(run.filter(isKept).map(({ id }) => id));
}

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

export const runsOf = (walks: readonly Walked[]): Run[] =>
  walks.flatMap(({ lead, received, unsent, rest }) =>
    rest.kind === 'sends'
      ? [
          {
            lead,
            run: rest.run,
            from: rest.from,
            received,
            kept: keptOf(rest.run, unsent),
          },
        ]
      : [],
  );

/** The steps of its run of which a lead gets a new message. */
function newSteps({ lead, received, unsent, rest }: Walked): string[] {
  if (rest.kind !== 'sends') return [];
  const kept = keptOf(rest.run, unsent);
  return rest.run
    .filter(({ id, step }) => !received.has(id) && !kept.has(id) && reaches(lead, step))
    .map(({ id }) => id);
}

const messageKey = ({ lead, stepId }: Pick<StepMessage, 'stepId'> & { lead: { id: string } }): string =>
  `${lead.id} ${stepId}`;

/** What of a plan is true of the walks that were made afterwards: the walks all of whose messages were planned, and these messages. */
export function confirmed(
  planned: readonly StepMessage[],
  walks: readonly Walked[],
): { walks: Walked[]; messages: StepMessage[] } {
  const isPlanned = new Set(planned.map(messageKey));
  const keysOf = (walked: Walked) => newSteps(walked).map((stepId) => messageKey({ ...walked, stepId }));
  const settled = walks.filter((walked) => keysOf(walked).every((key) => isPlanned.has(key)));
  const needed = new Set(settled.flatMap(keysOf));
  return { walks: settled, messages: planned.filter((message) => needed.has(messageKey(message))) };
}

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
  const revisions = await revisionsOf(db, campaign, walks, messages, now);
  const withoutConsent = leadsWithoutMessage(refused, messages, revisions);
  await insertDecisions(
    db,
    campaign.id,
    walks.map(({ lead, passed }) => ({ leadId: lead.id, passed })),
    now,
  );
  await carryOutSteps(db, campaign, walks, { now, lists });
  await revise(db, campaign, revisions, now);
  await storePositions(
    db,
    campaign,
    walks.filter(({ lead }) => !withoutConsent.has(lead.id)),
  );
  await markSkipped(db, campaign.id, withoutConsent, 'no_consent');
  if (messages.length > 0) {
    const first = firstMessages(messages, revisions);
    await insertStepMessages(db, campaign, messages, first, now);
    await wakeFirst(db, campaign, first, now);
  }
  return { messageCount: messages.length, noConsent: withoutConsent.size };
}

async function carryOutSteps(
  db: TenantDb,
  campaign: CampaignRow,
  walks: readonly Walked[],
  { now, lists }: { now: Date; lists: ReadonlySet<string> },
): Promise<void> {
  for (const { lead, does } of walks)
    if (does.length > 0) {
      const changed = await carryOut(db, campaign, lead, does, { now, lists });
      await callWebhooks(db, campaign, changed, does, now);
    }
}

/** What becomes of the messages that a lead has from an earlier version of the steps. */
interface Revision {
  leadId: string;
  kept: readonly Kept[];
  /** The messages that it does not get. */
  removed: readonly string[];
  /** Whether a condition to stop holds for it. */
  isStopped: boolean;
  /** The step that comes next. */
  next: string | null;
}

async function revisionsOf(
  db: TenantDb,
  campaign: CampaignRow,
  walks: readonly Walked[],
  messages: readonly StepMessage[],
  now: Date,
): Promise<Revision[]> {
  if (walks.every(({ unsent }) => unsent === null)) return [];
  const window = campaignWindow(campaign, await workspaceTimezone(db));
  const inserted = new Set(messages.map(messageKey));
  return walks.flatMap((walked) =>
    walked.unsent === null
      ? []
      : revisionOf(campaign, walked, walked.unsent, stepsToCome(walked, window, inserted), now),
  );
}

/** The messages of its run that a lead has or gets now, in their order. */
function stepsToCome(
  { lead, received, unsent, rest }: Walked,
  window: SendWindow | undefined,
  inserted: ReadonlySet<string>,
): PlannedStep[] {
  if (rest.kind !== 'sends') return [];
  const kept = keptOf(rest.run, unsent);
  return planSteps(rest.run, lead, window, rest.from, received).filter(
    ({ stepId }) => kept.has(stepId) || inserted.has(messageKey({ lead, stepId })),
  );
}

function revisionOf(
  campaign: CampaignRow,
  { lead, rest }: Walked,
  unsent: readonly Unsent[],
  coming: readonly PlannedStep[],
  now: Date,
): Revision {
  const [next] = coming;
  const kept = new Map<string, Kept>();
  const removed: string[] = [];
  for (const message of unsent) {
    const { id, stepId, channel } = message;
    const plan = coming.find((one) => one.stepId === stepId);
    if (!plan || plan.channel !== channel || kept.has(stepId)) {
      removed.push(id);
      continue;
    }
    const isHeld = plan !== next;
    const at = isHeld ? plan.at : turnOf(message, plan, now);
    kept.set(stepId, { id, stepId, variant: variantAfterEdit(campaign, message, lead.id), at, isHeld });
  }
  return {
    leadId: lead.id,
    kept: [...kept.values()],
    removed,
    isStopped: rest.kind === 'stops',
    next: next?.stepId ?? null,
  };
}

/** When the turn of the next message comes; null: it has come, and its time stays. */
function turnOf({ held, holdReason, scheduledAt }: Unsent, plan: PlannedStep, now: Date): Date | null {
  if (!held || (holdReason !== PREVIOUS_STEP && holdReason !== LEAD_PAUSED)) return null;
  const planned = holdReason === LEAD_PAUSED ? scheduledAt : plan.at;
  return planned > now ? planned : now;
}

async function revise(
  db: TenantDb,
  campaign: CampaignRow,
  revisions: readonly Revision[],
  now: Date,
): Promise<void> {
  const removedOf = (stopped: boolean) =>
    revisions.flatMap(({ isStopped, removed }) => (isStopped === stopped ? removed : []));
  await cancelRemoved(db, removedOf(false), now);
  await cancelRemoved(db, removedOf(true), now, 'stop_condition');
  await reviseMessages(
    db,
    campaign,
    revisions.flatMap(({ kept }) => kept),
    now,
  );
}

/** The leads whose messages were all refused, and that keep none. */
function leadsWithoutMessage(
  refused: readonly StepMessage[],
  messages: readonly StepMessage[],
  revisions: readonly Revision[],
): ReadonlySet<string> {
  const sending = new Set([
    ...messages.map(({ lead }) => lead.id),
    ...revisions.flatMap(({ leadId, kept }) => (kept.length > 0 ? leadId : [])),
  ]);
  return new Set(refused.map(({ lead }) => lead.id).filter((id) => !sending.has(id)));
}

/** The new messages that come before the others of their leads. */
function firstMessages(messages: readonly StepMessage[], revisions: readonly Revision[]): StepMessage[] {
  const nextOf = new Map(revisions.map(({ leadId, next }) => [leadId, next]));
  return messages
    .filter(({ lead }, index) => messages[index - 1]?.lead.id !== lead.id)
    .filter(({ lead, stepId }) => (nextOf.get(lead.id) ?? stepId) === stepId);
}

/**
 * Has leads that came to wait for a fact be judged once more. Whoever changed something meanwhile did not see them there: they have just
 * entered, or the edit of the steps after which campaigns follow facts had not been committed.
 */
export async function lookOnceMore(
  db: TenantDb,
  { id, status }: CampaignRow,
  walks: readonly Walked[],
  now: Date,
): Promise<void> {
  const waiting = walks.filter(({ rest }) => rest.kind === 'waits' && rest.isAwaitingFacts);
  if (waiting.length === 0) return;
  const at = new Date(now.getTime() + LOOK_AGAIN_MS);
  const ids = sql.array(
    waiting.map(({ lead }) => lead.id),
    'text',
  );
  await db.query(sql.type(NoRows)`
    update campaign_leads set due_at = least(due_at, ${sql.timestamp(at)})
    where workspace_id = ${db.workspaceId} and campaign_id = ${id} and lead_id = any(${ids}) and state = 'running' and is_awaiting`);
  if (status === 'active') wake(db, campaignWorkflowId(id), at, 'progressDue');
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
