import { z } from 'zod';
import { receiveOwnEvents } from '#db/commands/inbox/carrier-reports.ts';
import { groupInTestMode } from '#db/commands/messages/group-recipients.ts';
import { readTestClock } from '#db/commands/test-mode/clock.ts';
import { answeredSend, contactAction } from '#db/commands/test-mode/contact-actions.ts';
import {
  emptyTwin,
  insertTestLine,
  requireRoomForTestLine,
  storedFiles,
} from '#db/commands/test-mode/twin.ts';
import { findLineWithUsage } from '#db/queries/lines/lines.ts';
import { recordClick } from '#db/commands/messages/message-links.ts';
import { linksOf } from '#db/queries/messages/message-links.ts';
import { findMessage } from '#db/queries/messages/messages.ts';
import { findReplyOf } from '#db/queries/inbox/replies.ts';
import { contactPhone } from '#db/queries/test-mode/contact-phone.ts';
import { lineForInbound } from '#db/queries/test-mode/test-lines.ts';
import { lastTestAttempt, listTestSends, type TestSendRow } from '#db/queries/test-mode/test-sends.ts';
import { type TenantDb, withSystemShare, withTenant } from '#db/connection/transactions.ts';
import { normalizeAddress } from '#domain/base/address.ts';
import type { FileLinks } from '#domain/messages/attachment.ts';
import { type CarrierEvent, MAX_TEXT } from '#domain/lines/carrier-event.ts';
import { Channel } from '#domain/base/channel.ts';
import { realTime } from '#domain/base/clock.ts';
import { Id, newId } from '#domain/base/ids.ts';
import { MAX_RECIPIENTS } from '#domain/inbox/group.ts';
import { Line } from '#domain/lines/line.ts';
import { LineRequestInput } from '#domain/lines/line-request.ts';
import { textReactions } from '#domain/inbox/text-reaction.ts';
import { ContactAction } from '#domain/test-mode/contact-action.ts';
import { MAX_ADVANCE_SECONDS } from '#domain/test-mode/test-mode.ts';
import { storageKey } from '#providers/storage/storage.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { Instant, NextCursor, page, PageQuery } from '#api/http/page.ts';
import { perMinute, TEST_LIMIT } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { messageNotFound } from '../messages/messages.ts';
import { announceTyping } from '../inbox/contact-typing.ts';
import { lineNotFound } from '../lines/lines.ts';

const Done = z.object({ success: z.literal(true) });

const InboundInput = z
  .object({
    from: z.string().max(320).meta({ description: 'The phone number or email address of the contact.' }),
    to: z.string().max(320).optional().meta({ description: 'The address of the line. Instead of `lineId`.' }),
    lineId: Id.optional().meta({
      description:
        'Default: the line of the message that is answered, or that the contact was last in touch with, otherwise the oldest.',
    }),
    replyToMessageId: Id.optional().meta({
      description:
        'The message that the contact answers in particular. The line must be able to do `replies`.',
    }),
    text: z.string().max(MAX_TEXT),
    channel: Channel.optional(),
    group: z
      .object({
        participants: z
          .array(z.string().max(320))
          .min(1)
          .max(MAX_RECIPIENTS)
          .meta({ description: 'The other contacts in it. The same contacts are the same group.' }),
        name: z.string().max(200).optional(),
      })
      .optional()
      .meta({ description: 'The contact writes to a group with the line, by iMessage.' }),
  })
  .refine(({ to, lineId }) => to === undefined || lineId === undefined, {
    path: ['to'],
    message: 'must not be given together with lineId',
  })
  .meta({ id: 'TestInboundInput' });

const ReceiptInput = z
  .object({
    messageId: Id,
    status: z.enum(['delivered', 'read', 'clicked', 'failed']).meta({
      description: '`clicked`: the contact opens the links of a message whose campaign asks about that.',
    }),
    reason: z.string().max(500).optional().meta({ description: 'Why it has failed.' }),
  })
  .meta({ id: 'TestReceiptInput' });

const ResetInput = z
  .object({
    startsAt: Instant.optional().meta({
      description:
        'What the clock then shows: a time in the past, by at most 90 days. Default: the real time.',
    }),
  })
  .meta({ id: 'TestResetInput' });

const LineInput = z
  .object({
    channelType: LineRequestInput.shape.channelType,
    firstName: LineRequestInput.shape.firstName.default('Test'),
    lastName: LineRequestInput.shape.lastName.default('Line'),
  })
  .meta({ id: 'TestLineInput' });

const TestSend = z
  .object({
    _id: Id,
    messageId: Id,
    lineId: Id,
    channel: Channel,
    from: z.string(),
    to: z.string(),
    subject: z.string().nullable(),
    text: z.string().meta({ description: 'The text that the contact would read.' }),
    attachmentUrls: z.array(z.string()),
    sentAt: z.iso.datetime(),
  })
  .meta({ id: 'TestSend' });

const presentSend = (row: TestSendRow): z.input<typeof TestSend> => ({
  _id: row.id,
  messageId: row.messageId,
  lineId: row.lineId,
  channel: row.channel,
  from: row.sender,
  to: row.recipient,
  subject: row.subject,
  text: row.body,
  attachmentUrls: row.attachmentUrls,
  sentAt: row.sentAt.toISOString(),
});

/** Simulates reports of carriers and actions of contacts. Each request is processed like a carrier's callback. */
export const testModeRoutes = [
  workspaceRoute({
    id: 'testInbound',
    method: 'POST',
    path: '/api/test/inbound',
    tag: 'Test mode',
    scope: 'send',
    mode: 'test',
    limit: TEST_LIMIT,
    idempotent: true,
    summary: 'Receive a message from a contact, in test mode',
    body: InboundInput,
    responses: {
      200: Done.extend({
        replyId: Id.meta({
          description:
            'No reply has it if the text reports a reaction to a message, such as “Liked “See you at 8””.',
        }),
        lineId: Id,
      }),
    },
    errors: ['NOT_FOUND', 'CONFLICT', 'INVALID_STATE', 'UNSUPPORTED_BY_CARRIER'],
    async handler({ db, caller, carriers, body, now, links }) {
      const { country } = caller.workspace;
      const from = addressIn('from', body.from, country);
      const to = body.to === undefined ? null : addressIn('to', body.to, country);
      const { text, group, replyToMessageId } = body;
      const others = (group?.participants ?? []).map((other, index) =>
        addressIn(`group.participants.${index}`, other, country),
      );
      const channel = body.channel ?? (group ? 'imessage' : null);
      const answered =
        replyToMessageId === undefined
          ? null
          : await answeredSend(db, replyToMessageId, carriers.capabilitiesOf);
      const named = body.lineId ?? (to === null ? answered?.lineId : undefined) ?? null;
      const lineId = await lineForInbound(db, { from, lineId: named, to, channel });
      if (lineId === null) throw new ApiError('NOT_FOUND', 'There is no such line');
      const written =
        group &&
        (await groupInTestMode(
          db,
          { lineId, people: [from, ...others], name: group.name },
          carriers.capabilitiesOf,
        ));
      const carrierMessageId = newId();
      await report(db, links, lineId, {
        kind: 'reply',
        eventId: newId(),
        at: now,
        carrierMessageId,
        from,
        text,
        attachments: [],
        autoReply: false,
        ...(answered && { replyTo: answered.carrierMessageId }),
        ...(written && { group: written }),
      });
      const replyId = await findReplyOf(db, { lineId, carrierMessageId });
      if (replyId === null && textReactions(text).length === 0)
        throw new ApiError('CONFLICT', 'The contact has just been erased');
      return { status: 200, body: { success: true, replyId: replyId ?? carrierMessageId, lineId } };
    },
  }),

  workspaceRoute({
    id: 'testReceipt',
    method: 'POST',
    path: '/api/test/receipts',
    tag: 'Test mode',
    scope: 'send',
    mode: 'test',
    limit: TEST_LIMIT,
    summary: 'Report that a message was delivered, read or clicked, or has failed, in test mode',
    body: ReceiptInput,
    responses: { 200: Done },
    errors: ['NOT_FOUND', 'INVALID_STATE'],
    async handler({ db, body: { messageId, status, reason }, now, links }) {
      if (!(await findMessage(db, messageId))) throw messageNotFound();
      if (status === 'clicked') {
        const followed = await linksOf(db, [messageId]);
        if (followed.length === 0) throw new ApiError('INVALID_STATE', 'The message has no links of ours');
        for (const { token } of followed) await recordClick(db, token, now);
        return { status: 200, body: { success: true } };
      }
      const attempt = await lastTestAttempt(db, messageId);
      if (!attempt) throw new ApiError('INVALID_STATE', 'The message has not been sent');
      const { lineId, carrierMessageId } = attempt;
      const about = { eventId: newId(), at: now, carrierMessageId };
      await report(
        db,
        links,
        lineId,
        status === 'read'
          ? { kind: 'read', ...about }
          : { kind: 'receipt', ...about, status, ...(reason !== undefined && { reason }) },
      );
      return { status: 200, body: { success: true } };
    },
  }),

  workspaceRoute({
    id: 'testAction',
    method: 'POST',
    path: '/api/test/actions',
    tag: 'Test mode',
    scope: 'send',
    mode: 'test',
    limit: TEST_LIMIT,
    summary: 'React to a message as a contact, edit or unsend one of theirs, or type, in test mode',
    description: 'The line must be able to `edit` and `unsend`.',
    body: ContactAction,
    responses: { 200: Done },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'UNSUPPORTED_BY_CARRIER'],
    async handler({ db, caller, carriers, presence, body, now, links }) {
      const { country } = caller.workspace;
      if (body.kind === 'typing') {
        const from = addressIn('from', body.from, country);
        await announceTyping(db, presence, { from, isOn: body.state === 'on' });
        return { status: 200, body: { success: true } };
      }
      const named = body.kind === 'reaction' ? body.from : undefined;
      const from = named === undefined ? undefined : addressIn('from', named, country);
      const { capabilitiesOf } = carriers;
      const { lineId, event } = await contactAction(db, body, from, { capabilitiesOf, now });
      await report(db, links, lineId, event);
      return { status: 200, body: { success: true } };
    },
  }),

  workspaceRoute({
    id: 'getTestPhone',
    method: 'GET',
    path: '/api/test/phone',
    tag: 'Test mode',
    mode: 'test',
    limit: TEST_LIMIT,
    summary: 'Get what the phone of a contact shows besides messages, in test mode',
    query: z.object({ contact: z.string().max(320) }),
    responses: {
      200: Done.extend({
        typing: z.boolean().meta({ description: 'Whether a line shows that somebody types.' }),
        read: z
          .object({ messageId: Id, at: z.iso.datetime() })
          .nullable()
          .meta({ description: 'The last message of the contact that is shown as read.' }),
      }),
    },
    async handler({ db, caller, query, now }) {
      const contact = addressIn('contact', query.contact, caller.workspace.country);
      const { isTyping, readMessageId, readAt } = await contactPhone(db, contact, now);
      const read =
        readMessageId !== null && readAt ? { messageId: readMessageId, at: readAt.toISOString() } : null;
      return { status: 200, body: { success: true, typing: isTyping, read } };
    },
  }),

  workspaceRoute({
    id: 'listTestSends',
    method: 'GET',
    path: '/api/test/sent',
    tag: 'Test mode',
    mode: 'test',
    limit: TEST_LIMIT,
    summary: 'List the messages that contacts would have received, newest first, in test mode',
    query: PageQuery.extend({ to: z.string().max(320).optional() }),
    responses: { 200: Done.extend({ sent: z.array(TestSend), nextCursor: NextCursor }) },
    async handler({ db, caller, query: { to, limit, cursor } }) {
      const recipient = to === undefined ? null : addressIn('to', to, caller.workspace.country);
      const rows = await listTestSends(db, recipient, { limit: limit + 1, cursor: cursor ?? null });
      const { items, nextCursor } = page([...rows], limit);
      return { status: 200, body: { success: true, sent: items.map(presentSend), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'createTestLine',
    method: 'POST',
    path: '/api/test/lines',
    tag: 'Test mode',
    mode: 'test',
    limit: TEST_LIMIT,
    idempotent: true,
    summary: 'Add a line that is active at once, in test mode',
    body: LineInput,
    responses: { 201: Done.extend({ line: Line }) },
    errors: ['LIMIT_REACHED'],
    async handler({ db, caller, carriers, body: { channelType: channel, ...names }, now }) {
      await requireRoomForTestLine(db);
      const id = await insertTestLine(db, { channel, ...names });
      const line = await findLineWithUsage(db, id, caller.workspace.timezone, carriers.capabilitiesOf, now);
      if (!line) throw new Error('the inserted line was not found');
      return { status: 201, body: { success: true, line } };
    },
  }),

  workspaceRoute({
    id: 'resetTestMode',
    method: 'POST',
    path: '/api/test/reset',
    tag: 'Test mode',
    scope: 'manage',
    role: 'admin',
    mode: 'test',
    limit: perMinute(10),
    transaction: false,
    summary: 'Delete everything in the workspace, in test mode',
    description:
      'Contacts, messages, campaigns, webhooks, settings and files are deleted, whatever their number. The workspace keeps its id and its keys, and has one line per channel again. Its clock shows the real time, or begins in the past: move it up to now, and what happens on the way looks like what has happened.',
    body: ResetInput,
    responses: { 200: Done.extend({ now: z.iso.datetime() }) },
    async handler({ caller, pools, storage, body: { startsAt = null } }) {
      const { id } = caller.workspace;
      const earliest = new Date(realTime().getTime() - MAX_ADVANCE_SECONDS * 1000);
      if (startsAt !== null && (startsAt < earliest || startsAt > realTime()))
        throw invalid('startsAt', 'must be in the past, by at most 90 days');
      for (const file of await withSystemShare(pools, id, (db) => storedFiles(db, id)))
        await storage.delete(storageKey(id, file));
      await withSystemShare(pools, id, (db) => emptyTwin(db, id, startsAt));
      const { now } = await withTenant(pools, id, readTestClock);
      return { status: 200, body: { success: true, now: now.toISOString() } };
    },
  }),
];

function addressIn(field: string, text: string, country: string): string {
  const address = normalizeAddress(text, country);
  if (address === null) throw invalid(field, 'must be a phone number or an email address');
  return address;
}

/** Receives a simulated report of a carrier. */
async function report(db: TenantDb, links: FileLinks, lineId: string, event: CarrierEvent): Promise<void> {
  if (!(await receiveOwnEvents(db, { workspaceId: db.workspaceId, lineId }, [event], links)))
    throw lineNotFound();
}
