import { z } from 'zod';
import { acceptMessage } from '#db/commands/messages/accept-messages.ts';
import { PERSONALIZATION } from '#db/commands/campaigns/personalizations.ts';
import { ACCEPTED, Accepted, requestEdit } from './message-actions.ts';
import { emitEdited, renderFor, rewriteMessage } from '#db/commands/messages/own-changes.ts';
import { contactRelation } from '#db/queries/messages/contact-relation.ts';
import { loadIntakeContext } from '#db/queries/messages/intake.ts';
import { cancelWaitingMessage } from '#db/commands/sending/message-orders.ts';
import { findMessage, type MessageRow, presentMessage } from '#db/queries/messages/messages.ts';
import {
  findWaits,
  listShownMessages,
  noteUnserved,
  presentFound,
  showMessage,
} from '#db/queries/messages/shown-messages.ts';
import { recipientOf } from '#db/queries/messages/message-recipient.ts';
import { sendWindow } from '#db/queries/messages/message-window.ts';
import { findTimeline } from '#db/queries/messages/timeline.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { knownCustomFields } from '#db/queries/accounts/limits.ts';
import { Id } from '#domain/base/ids.ts';
import type { Capability } from '#domain/lines/capability.ts';
import { NO_CARRIER } from '#domain/lines/line.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { acceptedMessageOf } from '#domain/messages/accepted-message.ts';
import { phoneOf } from '#domain/base/phone.ts';
import { quietUntil, unsupportedIn, Warnings, warningsOf } from '#domain/messages/warnings.ts';
import { wakingHours } from '#domain/sending/quiet-hours.ts';
import { MessageStatus } from '#domain/messages/message-status.ts';
import { Message, MessageEdit, MessageInput } from '#domain/messages/message.ts';
import { startOf } from '#domain/base/moment.ts';
import { presentTimeline, Timeline } from '#domain/messages/timeline.ts';
import { waitingFor } from '#domain/sending/waiting.ts';
import type { CarrierRegistry } from '#providers/carriers/registry.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { NextCursor, PageQuery } from '#api/http/page.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';

const MessageParams = z.object({ id: Id });

/** Messages wait for lines that are not connected, so what those will be able to do is not known. */
async function unsupportedOf(
  db: TenantDb,
  { capabilitiesOf }: CarrierRegistry,
  message: MessageRow,
): Promise<Capability[]> {
  const line = message.lineId === null ? null : await findLine(db, message.lineId);
  return line === null || line.carrier === NO_CARRIER ? [] : unsupportedIn(message, capabilitiesOf(line));
}

/** Why a text cannot be sent. */
const UNSENDABLE = {
  empty_message: 'is empty for this contact',
  message_too_long: 'is too long for this contact',
  template_error: 'cannot be rendered for this contact',
  template_too_expensive: 'takes too long to render for this contact',
} as const;

export const messageNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Message not found');

export const messageRoutes = [
  workspaceRoute({
    id: 'sendMessage',
    method: 'POST',
    path: '/api/messages',
    tag: 'Messages',
    needsSubscription: true,
    summary: 'Send or schedule one message',
    description:
      'Responds `201` once the message is stored. It is sent when its line may send it: limits, windows and gaps never cause an error; `status`, `scheduledDate` and `holdReason` show them.',
    limit: perMinute(60),
    idempotent: true,
    body: MessageInput,
    responses: { 201: Message.extend({ warnings: Warnings }) },
    errors: ['NO_ACTIVE_LINE', 'FALLBACK_NOT_CONFIGURED', 'NOT_FOUND', 'LIMIT_REACHED'],
    async handler({ db, caller, body, now, links, waitingMessages, carriers }) {
      waitingMessages.admit(caller.workspace.id);
      const context = await loadIntakeContext(db, [body], caller.workspace, { links, now });
      const { scheduledDate, timezone = context.timezone } = body;
      const schedule = scheduledDate === undefined ? now : startOf(scheduledDate, timezone);
      const draft = acceptedMessageOf(body, context, { now, source: 'api', schedule, userId: caller.userId });
      const message = await acceptMessage(db, draft, now);
      const { answersUntil, scheduledAt } = message;
      const isAnswer = answersUntil !== null && answersUntil > scheduledAt;
      const quiet = isAnswer ? undefined : wakingHours(context.quiet, recipientOf(message), context.timezone);
      const warnings = warningsOf({
        channel: message.channel,
        text: message.body,
        files: message.attachmentUrls.length,
        phone: phoneOf(message.address),
        fallbackText: message.smsFallbackMessage ?? undefined,
        subject: message.subject,
        unsupported: await unsupportedOf(db, carriers, message),
        customFields: await knownCustomFields(db),
        ...(await contactRelation(db, message.lineId, message.address)),
        quietUntil: quietUntil({ ...sendWindow(message), quiet }, scheduledAt),
      });
      return { status: 201, body: { ...(await showMessage(db, message, now)), warnings } };
    },
  }),

  workspaceRoute({
    id: 'listMessages',
    method: 'GET',
    path: '/api/messages',
    tag: 'Messages',
    summary: 'List messages, newest first',
    query: PageQuery.extend({
      leadId: Id.optional(),
      lineId: Id.optional(),
      campaignId: Id.optional(),
      status: MessageStatus.optional(),
      correlationId: z.string().max(200).optional(),
    }),
    responses: {
      200: z.object({ success: z.literal(true), messages: z.array(Message), nextCursor: NextCursor }),
    },
    transaction: false,
    async handler({ caller, query: { limit, cursor, ...filter }, now, pools, taskQueues }) {
      const page = await withTenant(pools, caller.workspace.id, (db) =>
        listShownMessages(db, filter, { limit, cursor }, now),
      );
      const messages = await noteUnserved(page.messages, taskQueues, now);
      const body = { messages: messages.map((one) => presentFound(one, now)), nextCursor: page.nextCursor };
      return { status: 200, body: { success: true, ...body } };
    },
  }),

  workspaceRoute({
    id: 'getMessage',
    method: 'GET',
    path: '/api/messages/{id}',
    tag: 'Messages',
    summary: 'Get a message',
    params: MessageParams,
    responses: { 200: Message },
    errors: ['NOT_FOUND'],
    transaction: false,
    async handler({ caller, params, now, pools, taskQueues }) {
      const found = await withTenant(pools, caller.workspace.id, async (db) => {
        const row = await findMessage(db, params.id);
        return row ? findWaits(db, [row], now) : [];
      });
      const [message] = await noteUnserved(found, taskQueues, now);
      if (!message) throw messageNotFound();
      return { status: 200, body: presentFound(message, now) };
    },
  }),

  workspaceRoute({
    id: 'getMessageTimeline',
    method: 'GET',
    path: '/api/messages/{id}/timeline',
    tag: 'Messages',
    summary: 'Get what has happened to a message, and what it waits for',
    description:
      '`waitingFor.text` and the texts of the events are for people: what support can tell a customer. Moves and deliveries to webhooks are kept for 30 days, calls of carriers for 400.',
    transaction: false,
    params: MessageParams,
    responses: { 200: Timeline },
    errors: ['NOT_FOUND'],
    async handler({ caller, params, now, pools, taskQueues }) {
      const told = await withTenant(pools, caller.workspace.id, (db) => findTimeline(db, params.id, now));
      if (!told) throw messageNotFound();
      const [found] = await noteUnserved([told.found], taskQueues, now);
      const waits = found?.facts ? waitingFor(found.facts, told.said, now) : null;
      return { status: 200, body: presentTimeline(params.id, told.record, waits) };
    },
  }),

  workspaceRoute({
    id: 'editMessage',
    method: 'PATCH',
    path: '/api/messages/{id}',
    tag: 'Messages',
    needsSubscription: true,
    summary: 'Replace the text of a message',
    description:
      'Before the message is sent, it keeps its place, and the response is `200` with the message. Afterwards, where the line can `edit`: up to 5 times within 15 minutes, the response is `202`, and the message has `editedAt` once the carrier has replaced the text. The event `message.edited` with `direction: "out"` tells.',
    params: MessageParams,
    body: MessageEdit,
    responses: { 200: Message, 202: Accepted },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'UNSUPPORTED_BY_CARRIER', 'LIMIT_REACHED'],
    audit: { action: 'message.edited', target: 'message' },
    async handler({ db, caller, params: { id }, body: { message: text }, now, carriers }) {
      const row = await findMessage(db, id);
      if (!row || isErased(row.address)) throw messageNotFound();
      const rendered = await renderFor(db, row, text);
      if ('reason' in rendered) throw invalid('message', UNSENDABLE[rendered.reason]);
      const rewritten = await rewriteMessage(db, id, text);
      if (rewritten) {
        await emitEdited(db, { ...rewritten, phone: rewritten.recipientPhone }, text, now);
        return { status: 200, body: await showMessage(db, rewritten, now) };
      }
      if (row.holdReason === PERSONALIZATION)
        throw new ApiError('INVALID_STATE', 'Its text is still being written');
      await requestEdit({ db, caller, carriers, now }, id, rendered.text);
      return { status: 202, body: ACCEPTED };
    },
  }),

  workspaceRoute({
    id: 'cancelMessage',
    method: 'POST',
    path: '/api/messages/{id}/cancel',
    tag: 'Messages',
    summary: 'Cancel a message that has not been sent yet',
    params: MessageParams,
    responses: { 200: Message },
    errors: ['NOT_FOUND', 'MESSAGE_NOT_CANCELABLE'],
    async handler({ db, params, now }) {
      return { status: 200, body: presentMessage(await cancelWaitingMessage(db, params.id, now)) };
    },
  }),
];
