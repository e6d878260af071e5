import { z } from 'zod';
import { changeConversations } from '#db/commands/inbox/conversation-changes.ts';
import { acceptBubbles } from '#db/commands/messages/accept-messages.ts';
import { groupToAnswer, type WritableGroup } from '#db/commands/messages/group-recipients.ts';
import { ensureLeads } from '#db/commands/messages/intake-leads.ts';
import { channelForPhone } from '#db/commands/messages/line-choice.ts';
import { lastInbound } from '#db/queries/inbox/conversations.ts';
import { emitDraftAnswered, resolveByReply } from '#db/commands/drafts/draft-resolution.ts';
import { loadIntakeContext } from '#db/queries/messages/intake.ts';
import { findLine, isUsable, type LineRow } from '#db/queries/lines/lines.ts';
import { showMessage } from '#db/queries/messages/shown-messages.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { BubbleIds, Bubbles, Message, MessageInput, RichFields } from '#domain/messages/message.ts';
import { acceptedMessageOf } from '#domain/messages/accepted-message.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { Duration, durationMs } from '#domain/base/duration.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { splitBubbles } from '#domain/messages/bubbles.ts';
import { Warnings } from '#domain/messages/warnings.ts';
import { startOf } from '#domain/base/moment.ts';
import { writtenAddressesOf } from './contact-addresses.ts';
import { warningsAbout } from '#api/routes/messages/message-warnings.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';

/** So long a member can take an answer back, who does not expect that it is canceled meanwhile. */
const UNDO_MS = 60_000;

const InboxReplyInput = z
  .object({
    leadId: z.string().min(1).max(100).optional(),
    phone: z.string().min(1).max(40).optional(),
    email: z.string().min(1).max(320).optional(),
    groupId: z.string().min(1).max(100).optional().meta({
      description: 'Instead of a contact: the group to answer, from its line.',
    }),
    message: Bubbles.optional(),
    attachmentUrls: z.array(z.string().max(2000)).max(2).optional(),
    fromLineId: z.string().min(1).max(100).optional(),
    ...RichFields.shape,
    cancelIfReply: z.boolean().optional().meta({
      description:
        'Cancels it if the contact writes before it is sent. Default: true if `scheduledDate` is more than a minute ahead.',
    }),
    remindIfNoReplyAfter: Duration.refine((span) => durationMs(span) > 0, 'must be longer than 0')
      .optional()
      .meta({
        description:
          'Snoozes the conversation until so long after the message is to be sent. It opens again then, or as soon as the contact writes.',
      }),
    scheduledDate: MessageInput.shape.scheduledDate.meta({
      description:
        "The earliest time to send it, for example a few seconds ahead in which it can be canceled. Without an offset, in the workspace's time zone.",
    }),
  })
  .meta({ id: 'InboxReplyInput' });

type OneReply = ReturnType<typeof splitBubbles<z.infer<typeof InboxReplyInput>>>['input'];

export const inboxRoutes = [
  workspaceRoute({
    id: 'sendReply',
    method: 'POST',
    path: '/api/inbox/send-reply',
    tag: 'Conversations',
    needsSubscription: true,
    summary: 'Reply to a contact from the line they wrote to',
    description:
      "Identifies the contact by `leadId`, `phone` or `email`, or the group by `groupId`. For a lead, the reply goes to the address that wrote last. Without `fromLineId` it is sent from the line that received the contact's last message, or, if that line can no longer send, from the line assigned to the contact. An open draft of the conversation is resolved as approved.",
    limit: perMinute(30),
    idempotent: true,
    body: InboxReplyInput,
    responses: { 201: Message.extend({ warnings: Warnings, bubbleIds: BubbleIds }) },
    errors: ['NO_ACTIVE_LINE', 'NOT_FOUND', 'UNSUPPORTED_BY_CARRIER'],
    audit: { action: 'draft.decided', target: 'draft', targets: 'handler' },
    async handler({ db, caller, body, now, links, audit, carriers }) {
      const { input: given, others } = splitBubbles(body);
      const answered =
        body.groupId === undefined ? null : await groupToAnswer(db, body.groupId, carriers.capabilitiesOf);
      const input = answered ? groupInput(given, answered) : await replyInput(db, caller, given);
      const context = await loadIntakeContext(db, [input], caller.workspace, { links, now });
      const schedule =
        body.scheduledDate === undefined ? now : startOf(body.scheduledDate, caller.workspace.timezone);
      const { cancelIfReply = schedule.getTime() - now.getTime() > UNDO_MS, remindIfNoReplyAfter } = body;
      const { userId } = caller;
      const draft = {
        ...acceptedMessageOf(input, context, {
          now,
          source: 'inbox',
          schedule,
          userId,
          group: answered?.addressed ?? null,
        }),
        cancelIfReply,
      };
      // Before the conversation is locked, because the lock order is lists before conversations.
      const [draftWithLead = draft] = await ensureLeads(db, [draft], now);
      const resolved = await resolveByReply(
        db,
        {
          address: draft.address,
          lineId: draft.pinnedLineId,
          messageId: draft.id,
          userId: caller.userId,
          by: caller.actor,
        },
        now,
      );
      const { message, bubbleIds } = await acceptBubbles(db, draftWithLead, others, now);
      await emitDraftAnswered(db, resolved, now);
      if (remindIfNoReplyAfter) {
        const snoozedUntil = new Date(message.scheduledAt.getTime() + durationMs(remindIfNoReplyAfter));
        const change = { status: 'snoozed', snoozedUntil } as const;
        await changeConversations(db, new Map([[message.address, change]]), { by: caller.actor, now });
      }
      if (resolved?.status === 'approved')
        await audit(db, [{ id: resolved.replyId, changes: { action: 'approve' } }]);
      const warnings = await warningsAbout(db, message, { carriers, context });
      return { status: 201, body: { ...(await showMessage(db, message, now)), warnings, bubbleIds } };
    },
  }),
];

/** What a reply says, to whomever. */
const contentOf = ({ message, attachmentUrls, replyToMessageId, effect }: OneReply) => ({
  ...(message !== undefined && { message }),
  ...(attachmentUrls !== undefined && { attachmentUrls }),
  ...(replyToMessageId !== undefined && { replyToMessageId }),
  ...(effect !== undefined && { effect }),
});

/** @throws Refusal */
function groupInput(body: OneReply, { line }: WritableGroup): MessageInput {
  if (body.fromLineId !== undefined && body.fromLineId !== line.id)
    throw new Refusal('VALIDATION_ERROR', 'fromLineId', 'must be the line of the group');
  return { ...contentOf(body), messageType: line.channel, fromLineId: line.id, stickinessPolicy: 'sticky' };
}

/** Chooses the address, line and channel of a reply. */
async function replyInput(db: TenantDb, caller: WorkspaceCaller, body: OneReply): Promise<MessageInput> {
  const addresses = await writtenAddressesOf(db, caller.workspace, body);
  const last = await lastInbound(db, addresses.map(contactKey));
  const address = last === null ? addresses[0] : (last.senderPhone ?? last.address);
  const isEmail = address.includes('@');
  const lastLine = last && (await findLine(db, last.lineId));
  const line = await lineOfReply(db, body, lastLine);
  const fromLineId = body.fromLineId ?? line?.id;
  return {
    messageType: line?.channel ?? (isEmail ? 'email' : (lastLine?.channel ?? (await channelForPhone(db)))),
    ...(isEmail ? { recipientEmail: address } : { recipientPhone: address }),
    ...(body.leadId !== undefined && { leadId: body.leadId }),
    ...(fromLineId !== undefined && { fromLineId }),
    ...contentOf(body),
    stickinessPolicy: 'sticky',
  };
}

/** @returns null to use the line assigned to the contact. */
async function lineOfReply(
  db: TenantDb,
  { fromLineId }: Pick<OneReply, 'fromLineId'>,
  lastLine: LineRow | null,
): Promise<LineRow | null> {
  if (fromLineId !== undefined) return findLine(db, fromLineId);
  return lastLine && isUsable(lastLine) ? lastLine : null;
}
