import { z } from 'zod';
import { acceptBubbles } from '#db/commands/messages/accept-messages.ts';
import { PERSONALIZATION } from '#db/commands/campaigns/personalizations.ts';
import { requestEdit } from '#db/commands/messages/message-actions.ts';
import { ACCEPTED, Accepted, actionRequest } from './message-actions.ts';
import { emitEdited, renderFor, rewriteMessage } from '#db/commands/messages/own-changes.ts';
import { loadIntakeContext } from '#db/queries/messages/intake.ts';
import { cancelWaitingMessage } from '#db/commands/sending/message-orders.ts';
import { namesAt } from '#db/queries/inbox/conversations.ts';
import { findMessage, presentMessage } from '#db/queries/messages/messages.ts';
import {
  findWaits,
  listShownMessages,
  noteUnserved,
  presentFound,
  showMessage,
} from '#db/queries/messages/shown-messages.ts';
import { findTimeline } from '#db/queries/messages/timeline.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { Id } from '#domain/base/ids.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { acceptedMessageOf } from '#domain/messages/accepted-message.ts';
import { Warnings } from '#domain/messages/warnings.ts';
import { MessageStatus } from '#domain/messages/message-status.ts';
import { splitBubbles } from '#domain/messages/bubbles.ts';
import { BubbleIds, Message, MessageEdit, MessageRequest } from '#domain/messages/message.ts';
import { startOf } from '#domain/base/moment.ts';
import { presentTimeline, Timeline } from '#domain/messages/timeline.ts';
import { waitingFor } from '#domain/sending/waiting.ts';
import { warningsAbout } from './message-warnings.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { NextCursor, PageQuery } from '#api/http/page.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';

const ListedMessage = Message.extend({
  contactName: z.string().nullable().meta({
    description: 'The name of the lead with the address, else `recipientName`.',
  }),
}).meta({ id: 'ListedMessage' });

const MessageParams = z.object({ id: Id });

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
    body: MessageRequest,
    responses: { 201: Message.extend({ warnings: Warnings, bubbleIds: BubbleIds }) },
    errors: ['NO_ACTIVE_LINE', 'FALLBACK_NOT_CONFIGURED', 'NOT_FOUND', 'LIMIT_REACHED'],
    async handler({ db, caller, body, now, links, waitingMessages, carriers }) {
      waitingMessages.admit(caller.workspace.id);
      const { input, others } = splitBubbles(body);
      const context = await loadIntakeContext(db, [input], caller.workspace, { links, now });
      const { scheduledDate, timezone = context.timezone } = input;
      const schedule = scheduledDate === undefined ? now : startOf(scheduledDate, timezone);
      const { userId } = caller;
      const accepted = acceptedMessageOf(input, context, { now, source: 'api', schedule, userId });
      const { message, bubbleIds } = await acceptBubbles(db, accepted, others, now);
      const warnings = await warningsAbout(db, message, { carriers, context });
      return { status: 201, body: { ...(await showMessage(db, message, now)), warnings, bubbleIds } };
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
      waiting: z.enum(['true', 'false']).optional().meta({
        description:
          '`true`: what is still to be sent; `false`: what was sent, has failed or was canceled. Ignored with `status`.',
      }),
      correlationId: z.string().max(200).optional(),
      order: z.enum(['created', 'sent']).default('created').meta({
        description: '`sent`: only what has left its line, latest first.',
      }),
    }),
    responses: {
      200: z.object({ success: z.literal(true), messages: z.array(ListedMessage), nextCursor: NextCursor }),
    },
    transaction: false,
    async handler({ caller, query: { limit, cursor, waiting, ...filter }, now, pools, taskQueues }) {
      const isWaiting = waiting === undefined ? undefined : waiting === 'true';
      const { names, ...page } = await withTenant(pools, caller.workspace.id, async (db) => {
        const shown = await listShownMessages(db, { ...filter, waiting: isWaiting }, { limit, cursor }, now);
        const rows = shown.messages.map(({ row }) => row);
        return { ...shown, names: await namesAt(db, rows) };
      });
      const found = await noteUnserved(page.messages, taskQueues, now);
      const messages = found.map((one) => ({
        ...presentFound(one, now),
        contactName: names.get(one.row.address) || one.row.recipientName,
      }));
      return { status: 200, body: { success: true, messages, nextCursor: page.nextCursor } };
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
      'Before the message is sent, it keeps its place, and the response is `200` with the message. Afterwards, where the line can `edit`: up to 5 times within 15 minutes, the response is `202`, and the message has `editedAt` once the carrier has replaced the text. The event `message.edited` with `direction: "out"` reports it.',
    params: MessageParams,
    body: MessageEdit,
    responses: { 200: Message, 202: Accepted },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'UNSUPPORTED_BY_CARRIER', 'LIMIT_REACHED'],
    audit: { action: 'message.edited', target: 'message' },
    async handler({ db, caller, params: { id }, body: { message: text }, now, carriers, config }) {
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
      await requestEdit(db, actionRequest({ caller, carriers, config, now }), id, rendered.text);
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
