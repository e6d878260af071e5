import { sql } from 'slonik';
import { z } from 'zod';
import { acceptMessages } from '#db/commands/messages/accept-messages.ts';
import { type ActionRequest, requestEdit } from '#db/commands/messages/message-actions.ts';
import { renderFor } from '#db/commands/messages/own-changes.ts';
import { recordset } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { requireRoomForMessages } from '#db/queries/accounts/limits.ts';
import { requireSending } from '#db/queries/accounts/writable.ts';
import { workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import { type CampaignRow, campaignWindow, findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { editingLines, formerTexts, type SentStep } from '#db/queries/campaigns/corrections.ts';
import { findMessages, type MessageRow } from '#db/queries/messages/messages.ts';
import { lockSequences } from '#db/queries/sending/message-locks.ts';
import { newId } from '#domain/base/ids.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { planCorrections } from '#domain/campaigns/correction.ts';
import { isMessageStep, type MessageStep, stepsById } from '#domain/campaigns/step.ts';
import { textsOf } from '#domain/campaigns/step-variants.ts';
import { keepPausedAmong } from './lead-pauses.ts';
import { variantAfterEdit } from './step-messages.ts';
import { cancelRemoved } from './revisions.ts';

/** Messages of one request: each that is sent is inserted, and each that is edited is rendered. */
const CORRECTED_AT_ONCE = 500;

/**
 * Corrects the next messages of a step whose text has changed since they were sent: they are edited where they are, or another message is
 * sent. Nobody gets a version of the text twice. Requires `lockCampaign`.
 * @param part.message the template of what is sent where nothing can be edited; null: the text of the step.
 * @returns the cursor of those after them; null: there are none.
 * @throws Refusal, LimitReached
 */
export async function correctTexts(
  db: TenantDb,
  campaign: CampaignRow,
  { stepId, message, after }: { stepId: string; message: string | null; after?: string | undefined },
  request: ActionRequest,
): Promise<{ edited: number; sent: number; nextCursor: string | null }> {
  const step = messageStep(campaign, stepId);
  const { now } = request;
  await requireSending(db);
  const part = { after, limit: CORRECTED_AT_ONCE };
  const { found, last } = await formerTexts(db, campaign, stepId, campaign.steps, part, now);
  const ways = planCorrections(found, await editingLines(db, request.capabilitiesOf), now);
  const by = (way: 'edit' | 'message') => found.filter((_, index) => ways[index] === way);
  const [toEdit, toSend] = [by('edit'), by('message')];
  await requireRoomForMessages(db, toSend.length);
  const sent = await sendCorrections(db, campaign, step, toSend, message, now);
  const edited = await editAll(db, campaign, step, toEdit, message, request);
  return { edited, sent, nextCursor: last };
}

function messageStep({ steps }: CampaignRow, stepId: string): MessageStep {
  const step = stepsById(steps).get(stepId)?.step;
  if (!step || !isMessageStep(step))
    throw new Refusal('VALIDATION_ERROR', 'stepId', 'must be a message of the campaign');
  return step;
}

/** The text and the subject that a lead gets now. */
function textFor(campaign: CampaignRow, step: MessageStep, { leadId, variant }: SentStep) {
  const chosen = variantAfterEdit(campaign, { stepId: step.id ?? '', variant }, leadId);
  const texts = textsOf(step);
  return texts.find((one) => one.variant === chosen) ?? texts[0];
}

async function editAll(
  db: TenantDb,
  campaign: CampaignRow,
  step: MessageStep,
  toEdit: readonly SentStep[],
  template: string | null,
  request: ActionRequest,
): Promise<number> {
  const rows = await messagesOf(db, toEdit);
  const edits: Correction[] = [];
  for (const one of toEdit) {
    const row = rows.get(one.id);
    const text = textFor(campaign, step, one)?.body ?? '';
    const rendered = row ? await renderFor(db, row, text) : { reason: 'empty_message' };
    if ('reason' in rendered) continue;
    const actionId = await requestEdit(db, request, one.id, rendered.text).catch((error: unknown) => {
      // It has changed since. The next request tells.
      if (error instanceof Refusal) return null;
      throw error;
    });
    if (actionId !== null)
      edits.push({ messageId: one.id, actionId, sentMessageId: null, template: template ?? text });
  }
  await record(db, campaign, edits);
  return edits.length;
}

/** @returns how many were sent. */
async function sendCorrections(
  db: TenantDb,
  campaign: CampaignRow,
  step: MessageStep,
  toSend: readonly SentStep[],
  template: string | null,
  now: Date,
): Promise<number> {
  if (toSend.length === 0) return 0;
  const rows = await messagesOf(db, toSend);
  const window = campaignWindow(campaign, await workspaceTimezone(db)) ?? null;
  const drafts = toSend.flatMap((one) => {
    const row = rows.get(one.id);
    const text = textFor(campaign, step, one);
    return row && text
      ? [
          {
            of: one.id,
            draft: draftOf(
              campaign,
              step,
              row,
              { body: template ?? text.body, subject: text.subject },
              window,
              now,
            ),
          },
        ]
      : [];
  });
  await acceptMessages(
    db,
    drafts.map(({ draft }) => draft),
    now,
  );
  await record(
    db,
    campaign,
    drafts.map(({ of, draft }) => ({
      messageId: of,
      actionId: null,
      sentMessageId: draft.id,
      template: null,
    })),
  );
  const ids = drafts.map(({ draft }) => draft.id);
  const stopped = await stoppedMeanwhile(db, ids);
  await cancelRemoved(db, stopped, now, 'removed');
  await keepPausedAmong(db, ids);
  return drafts.length - stopped.length;
}

const draftOf = (
  { id: campaignId, version, poolId, eligibleLineIds, createdByUserId }: CampaignRow,
  { smsFallbackEnabled }: MessageStep,
  row: MessageRow,
  text: { body: string; subject: string | null },
  window: NonNullable<ReturnType<typeof campaignWindow>> | null,
  now: Date,
) => ({
  id: newId(now),
  channel: row.channel,
  pinnedLineId: null,
  poolId,
  eligibleLineIds,
  stickinessPolicy: 'sticky' as const,
  address: row.address,
  recipientPhone: row.recipientPhone,
  recipientEmail: row.recipientEmail,
  recipientName: row.recipientName,
  leadId: row.leadId,
  ...text,
  attachmentUrls: [],
  attachmentNames: [],
  voiceNote: false,
  replyToId: null,
  effect: null,
  cancelIfReply: false,
  scheduledAt: now.toISOString(),
  window,
  sendFallbackSmsOnFailed: false,
  smsFallbackEnabled,
  smsFallbackMessage: null,
  forceFallback: false,
  source: 'campaign',
  correlationId: null,
  traceId: null,
  batchId: null,
  // It is no step of its own: the funnel counts the message that it corrects.
  stepIndex: null,
  crm: row.crm,
  createdByUserId,
  campaignId,
  campaignVersion: version,
});

const MessageIdRow = z.object({ id: z.string() });

/** Those of some messages whose leads have stopped while they were written. Locks the sequences. */
async function stoppedMeanwhile(db: TenantDb, ids: readonly string[]): Promise<readonly string[]> {
  await lockSequences(db, ids);
  return db.anyFirst(sql.type(MessageIdRow)`
    select m.id from messages m
    join campaign_leads l on l.workspace_id = m.workspace_id and l.campaign_id = m.campaign_id and l.lead_id = m.lead_id
    where m.workspace_id = ${db.workspaceId} and m.id = any(${sql.array([...ids], 'text')}) and l.state = 'stopped'`);
}

type Correction = Record<'messageId', string> &
  Record<'actionId' | 'sentMessageId' | 'template', string | null>;

async function record(
  db: TenantDb,
  { id: campaignId, version }: CampaignRow,
  corrections: readonly Correction[],
): Promise<void> {
  if (corrections.length === 0) return;
  await db.query(sql.type(NoRows)`
    insert into campaign_corrections as c (workspace_id, campaign_id, message_id, version, action_id, sent_message_id, template)
    select ${db.workspaceId}, ${campaignId}, n.message_id, ${version}, n.action_id, n.sent_message_id, n.template
    from ${recordset('campaign_corrections', corrections)} n
    -- An edit that failed.
    on conflict (workspace_id, message_id, version) do update set action_id = coalesce(excluded.action_id, c.action_id),
      sent_message_id = excluded.sent_message_id, template = excluded.template`);
}

const FailedRow = z.object({
  campaignId: z.string(),
  messageId: z.string(),
  stepId: z.string(),
  template: z.string(),
});

/**
 * Sends a message in place of an edit that certainly failed, if it was to correct a campaign, and its text is still the last one. Others
 * follow with the next request.
 */
export async function followCorrection(db: TenantDb, actionId: string, now: Date): Promise<void> {
  const failed = await db.maybeOne(sql.type(FailedRow)`
    select c.campaign_id, c.message_id, coalesce(m.step_id, (m.step_index + 1)::text) step_id, c.template
    from campaign_corrections c
    join message_actions a on a.workspace_id = c.workspace_id and a.id = c.action_id
    join messages m on m.workspace_id = c.workspace_id and m.id = c.message_id
    join campaigns k on k.workspace_id = c.workspace_id and k.id = c.campaign_id
    where c.workspace_id = ${db.workspaceId} and c.action_id = ${actionId} and c.sent_message_id is null and c.version = k.version
      and a.status = 'failed' and a.reason is distinct from 'outcome_unknown' and k.status <> 'archived' and k.deleted_at is null`);
  if (!failed) return;
  const campaign = await findCampaign(db, failed.campaignId);
  if (!campaign) return;
  const step = stepsById(campaign.steps).get(failed.stepId)?.step;
  if (!step || !isMessageStep(step)) return;
  const only = { only: [failed.messageId], limit: 1 };
  const { found } = await formerTexts(db, campaign, failed.stepId, campaign.steps, only, now);
  const ways = planCorrections(found, new Map(), now);
  await sendCorrections(
    db,
    campaign,
    step,
    found.filter((_, index) => ways[index] === 'message'),
    failed.template,
    now,
  );
}

/** The rows of messages, by id. */
async function messagesOf(db: TenantDb, sent: readonly SentStep[]): Promise<ReadonlyMap<string, MessageRow>> {
  const rows = await findMessages(
    db,
    sent.map(({ id }) => id),
  );
  return new Map(rows.map((row) => [row.id, row]));
}
