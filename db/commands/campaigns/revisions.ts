import { sql } from 'slonik';
import { z } from 'zod';
import { emitCanceled } from '#db/commands/messages/message-events.ts';
import { recordset } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { CampaignRow } from '#db/queries/campaigns/campaigns.ts';
import { stepsOfVersions, storeVersion } from '#db/queries/campaigns/versions.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { wake, wakeLines } from '#db/wakes/wakes.ts';
import { VariantName } from '#domain/messages/variant-name.ts';
import { isMessageStep, stepsById } from '#domain/campaigns/step.ts';
import { textsOf } from '#domain/campaigns/step-variants.ts';
import { campaignWorkflowId, personalizerId } from '#workflows/protocol/workflow-ids.ts';
import { stepTexts } from './step-texts.ts';
import type { StopReason } from './campaign-stops.ts';
import { personalize, PERSONALIZATION } from './personalizations.ts';

/** Bringing what waits up to date with the steps of a campaign, which changed while it runs. */

/** The `holdReason` of steps that wait for the previous step. */
export const PREVIOUS_STEP = 'previous_step';

/** The `holdReason` of canceled messages whose step was removed, or goes out by another channel. */
const STEP_REMOVED = 'step_removed';

/**
 * Makes the next version of a campaign, whose steps have just changed. Until its workflow has brought up to date what waits, nothing of
 * the campaign is sent. Requires `lockCampaign`.
 */
export async function reviseLater(
  db: TenantDb,
  before: CampaignRow,
  after: Pick<CampaignRow, 'steps'>,
  { userId, now }: { userId: string | null; now: Date },
): Promise<void> {
  const { id, version, steps } = before;
  const known = before.stepIds ?? [...stepsById(steps).keys()];
  const added = [...stepsById(after.steps).keys()].filter((one) => !known.includes(one));
  await storeVersion(db, before, {
    userId: before.createdByUserId,
    at: before.startedAt ?? before.createdAt,
  });
  await storeVersion(db, { ...before, ...after, version: version + 1 }, { userId, at: now });
  await db.query(sql.type(NoRows)`
    update campaigns set version = version + 1, revised_at = ${sql.timestamp(now)},
      step_ids = ${sql.array([...known, ...added], 'text')}
    where workspace_id = ${db.workspaceId} and id = ${id}`);
  wake(db, campaignWorkflowId(id), now, 'progressDue');
}

/** Everything that waits of a campaign is up to date. Its lines, which have not seen it meanwhile, look again. */
export async function endRevision(db: TenantDb, campaignId: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update campaigns set revised_at = null where workspace_id = ${db.workspaceId} and id = ${campaignId}`);
}

const UnsentRow = MessageRow.pick({
  id: true,
  status: true,
  channel: true,
  held: true,
  holdReason: true,
}).extend({
  leadId: z.string(),
  stepId: z.string(),
  variant: VariantName.nullable(),
  scheduledAt: z.date(),
});
/** A message of a lead that was not sent yet, or is being sent. */
export type Unsent = z.infer<typeof UnsentRow>;

const these = (leadIds: readonly string[]) => sql.array([...leadIds], 'text');

/** The id of the step of messages; those of earlier releases have only its number. */
const STEP_ID = sql.fragment`coalesce(step_id, (step_index + 1)::text)`;

/** The messages of leads that were not sent yet, or are being sent, by lead. */
export async function unsentOf(
  db: TenantDb,
  campaignId: string,
  leadIds: readonly string[],
  { lock = false }: { lock?: boolean } = {},
): Promise<ReadonlyMap<string, Unsent[]>> {
  if (leadIds.length === 0) return new Map();
  const rows = await db.any(sql.type(UnsentRow)`
    select id, lead_id, ${STEP_ID} step_id, status, channel, variant, held, hold_reason, scheduled_at from messages
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and lead_id = any(${these(leadIds)})
      and status in ('pending', 'scheduled', 'sending') and step_index is not null
    order by id ${lock ? sql.fragment`for no key update` : sql.fragment``}`);
  return Map.groupBy(rows, ({ leadId }) => leadId);
}

const ReceivedRow = z.object({ leadId: z.string(), stepId: z.string(), at: z.date() });

export interface Received {
  /** The steps that the lead has got or passed. */
  steps: ReadonlySet<string>;
  /** The last of them, with the time. */
  last: { stepId: string; at: Date } | null;
}

/** What leads have received of a campaign and passed in it, also in versions whose steps are gone. */
export async function receivedBy(
  db: TenantDb,
  campaignId: string,
  leadIds: readonly string[],
): Promise<ReadonlyMap<string, Received>> {
  if (leadIds.length === 0) return new Map();
  const rows = await db.any(sql.type(ReceivedRow)`
    select lead_id, ${STEP_ID} step_id, coalesce(sent_at, updated_at) "at" from messages
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and lead_id = any(${these(leadIds)})
      and step_index is not null and status not in ('pending', 'scheduled')
      and not (status = 'canceled' and hold_reason is not distinct from ${STEP_REMOVED})
    union all
    select lead_id, step_id, decided_at from campaign_decisions
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and lead_id = any(${these(leadIds)}) and kind <> 'stop'
    order by "at"`);
  return new Map(
    [...Map.groupBy(rows, ({ leadId }) => leadId)].map(([leadId, received]) => [
      leadId,
      { steps: new Set(received.map(({ stepId }) => stepId)), last: received.at(-1) ?? null },
    ]),
  );
}

/**
 * Cancels messages whose steps leads do not get any more, or get by another channel. Requires their locks.
 * @param reason of leads that stop: why.
 */
export async function cancelRemoved(
  db: TenantDb,
  ids: readonly string[],
  now: Date,
  reason: typeof STEP_REMOVED | StopReason = STEP_REMOVED,
): Promise<void> {
  if (ids.length === 0) return;
  const canceled = await db.any(sql.type(MessageRow)`
    update messages set status = 'canceled', hold_reason = ${reason}, held = false, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = any(${these(ids)}) and status in ('pending', 'scheduled')
    returning *`);
  await emitCanceled(db, canceled, now);
}

/** A message that a lead keeps after an edit. */
export interface Kept {
  id: string;
  stepId: string;
  variant: VariantName | null;
  /** When its turn comes; null: it has come, and its time stays. */
  at: Date | null;
  /** Whether it waits for the message before it. */
  isHeld: boolean;
}

const DueRow = z.object({ messageId: z.string(), at: z.date() });

const VersionRow = MessageRow.pick({ id: true }).extend({
  variant: VariantName.nullable(),
  version: z.int(),
});

/** The messages whose steps have the texts that they had in the versions of the messages. What was written in their place since stays. */
async function withSameTexts(
  db: TenantDb,
  { id: campaignId, steps }: CampaignRow,
  kept: readonly Kept[],
): Promise<readonly string[]> {
  const rows = await db.any(sql.type(VersionRow)`
    select id, variant, coalesce(campaign_version, 1) "version" from messages
    where workspace_id = ${db.workspaceId} and id = any(${these(kept.map(({ id }) => id))})`);
  const trees = await stepsOfVersions(
    db,
    campaignId,
    rows.map(({ version }) => version),
  );
  const formerly = new Map([...trees].map(([version, tree]) => [version, stepsById(tree)]));
  const now = stepsById(steps);
  const textOf = (all: ReturnType<typeof stepsById> | undefined, { stepId, variant }: TextOf) => {
    const step = all?.get(stepId)?.step;
    return step && isMessageStep(step) && textsOf(step).find((one) => one.variant === variant)?.body;
  };
  const before = new Map(rows.map((row) => [row.id, row]));
  return kept.flatMap(({ id, stepId, variant }) => {
    const row = before.get(id);
    const text = row && textOf(formerly.get(row.version), { stepId, variant: row.variant });
    return text !== undefined && text === textOf(now, { stepId, variant }) ? id : [];
  });
}

type TextOf = Pick<Kept, 'stepId' | 'variant'>;

/** Gives messages that stay the texts and the order of the current version. Requires their locks. */
export async function reviseMessages(
  db: TenantDb,
  campaign: CampaignRow,
  kept: readonly Kept[],
  now: Date,
): Promise<void> {
  if (kept.length === 0) return;
  const { id, version, steps, needsAiPersonalization: isWritten, status } = campaign;
  const rows = kept.map(({ id: messageId, stepId, variant, at, isHeld }) => ({
    id: messageId,
    stepId,
    variant,
    scheduledAt: at,
    held: isHeld,
  }));
  // The model writes from the text of the step.
  const asIs = kept.filter(({ at, isHeld }) => !isWritten || (at === null && !isHeld));
  const same = asIs.length === 0 ? [] : await withSameTexts(db, campaign, asIs);
  await db.query(sql.type(NoRows)`
    with ${stepTexts(steps, new Set(kept.map(({ stepId }) => stepId)))}
    update messages m set campaign_version = ${version}, updated_at = now(), step_id = n.step_id, variant = n.variant,
      body = case when m.id = any(${these(same)}) then m.body else coalesce(s.body, m.body) end, subject = s.subject, attachment_urls = s.attachment_urls,
      sms_fallback_enabled = s.sms_fallback_enabled, sms_fallback_message = s.sms_fallback_message,
      scheduled_at = coalesce(n.scheduled_at, m.scheduled_at),
      status = case when n.scheduled_at is null then m.status else 'scheduled' end,
      held = case when n.scheduled_at is null then m.held else n.held end,
      hold_reason = case when n.scheduled_at is null then m.hold_reason when n.held then ${PREVIOUS_STEP} end
    from ${recordset('messages', rows)} n
    join steps s on s.step_id = n.step_id and s.variant is not distinct from n.variant
    where m.workspace_id = ${db.workspaceId} and m.id = n.id`);
  const waitAgain = kept.filter(({ isHeld }) => isHeld).map((one) => one.id);
  await db.query(sql.type(NoRows)`
    delete from personalizations where workspace_id = ${db.workspaceId} and message_id = any(${these(waitAgain)})`);
  const released = kept.flatMap(({ id: messageId, at, isHeld }) =>
    at === null || isHeld ? [] : [{ messageId, at }],
  );
  if (isWritten) {
    const ids = released.map(({ messageId }) => messageId);
    await hold(db, ids);
    const due = sql.fragment`select * from ${sql.unnest(
      released.map(({ messageId, at }) => [messageId, at.toISOString()]),
      ['text', 'timestamptz'],
    )} as t (message_id, at)`;
    if (ids.length > 0) await personalize(db, campaign, due, now);
    await rewrite(
      db,
      id,
      kept.flatMap((one) => (one.at === null && !same.includes(one.id) ? one.id : [])),
      now,
    );
  } else if (status === 'active') {
    wakeLines(db, await linesOf(db, released));
  }
}

const QueuedRow = MessageRow.pick({ lineId: true, scheduledAt: true });

const linesOf = (db: TenantDb, released: readonly z.infer<typeof DueRow>[]) =>
  released.length === 0
    ? []
    : db.any(sql.type(QueuedRow)`
        select line_id, min(scheduled_at) scheduled_at from messages
        where workspace_id = ${db.workspaceId} and id = any(${these(released.map(({ messageId }) => messageId))})
        group by line_id`);

async function hold(db: TenantDb, ids: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages set held = true, hold_reason = ${PERSONALIZATION}
    where workspace_id = ${db.workspaceId} and id = any(${these(ids)}) and not held`);
}

const MessageIdRow = z.object({ messageId: z.string() });

/** Has the model write messages again that it has written. */
async function rewrite(
  db: TenantDb,
  campaignId: string,
  messageIds: readonly string[],
  now: Date,
): Promise<void> {
  const again = await db.anyFirst(sql.type(MessageIdRow)`
    update personalizations set status = 'waiting', error = null, due_at = ${sql.timestamp(now)}, updated_at = now()
    where workspace_id = ${db.workspaceId} and message_id = any(${these(messageIds)}) and status <> 'waiting'
    returning message_id`);
  if (again.length === 0) return;
  await hold(db, again);
  wake(db, personalizerId(campaignId), now, 'personalizationsDue');
}

/**
 * Takes a lead out of the way of its messages that is not up to date with the steps, at the end of a send: the campaign's workflow brings
 * it up to date, and it goes on from there. Requires `lockSequences`.
 * @param passed the message that it got last, if none waits.
 */
export async function reviseLead(
  db: TenantDb,
  { campaignId, leadId }: { campaignId: string; leadId: string },
  passed: { stepId: string; at: Date } | null,
  now: Date,
): Promise<void> {
  const place =
    passed === null
      ? sql.fragment``
      : sql.fragment`step_id = ${passed.stepId}, is_passed = true, arrived_at = ${sql.timestamp(passed.at)},`;
  await db.query(sql.type(NoRows)`
    update campaign_leads set ${place} due_at = case when paused_at is null then ${sql.timestamp(now)} else resumes_at end, updated_at = now()
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and lead_id = ${leadId} and state = 'running'`);
  // What came back to the queue has the old text.
  await db.query(sql.type(NoRows)`
    update messages set held = true, hold_reason = ${PREVIOUS_STEP}, updated_at = now()
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and lead_id = ${leadId}
      and status in ('pending', 'scheduled') and not held and step_index is not null`);
  wake(db, campaignWorkflowId(campaignId), now, 'progressDue');
}
