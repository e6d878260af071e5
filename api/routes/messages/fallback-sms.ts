import { z } from 'zod';
import { acceptMessage } from '#db/commands/messages/accept-messages.ts';
import { findFallbackAccount } from '#db/queries/sending/fallback-config.ts';
import { loadIntakeContext } from '#db/queries/messages/intake.ts';
import { findLead } from '#db/queries/contacts/leads.ts';
import { findMessage } from '#db/queries/messages/messages.ts';
import { showMessage } from '#db/queries/messages/shown-messages.ts';
import { Message, type MessageInput, TemplateText } from '#domain/messages/message.ts';
import { acceptedMessageOf } from '#domain/messages/accepted-message.ts';
import { fallbackText } from '#domain/messages/outgoing-text.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { messageNotFound } from './messages.ts';

export const fallbackSmsRoutes = [
  workspaceRoute({
    id: 'sendFallbackSms',
    method: 'POST',
    path: '/api/fallback-sms',
    tag: 'Messages',
    needsSubscription: true,
    summary: "Send an SMS to a message's recipient through the workspace's fallback account",
    description:
      "The text is `message`, otherwise the original message's fallback text, otherwise the workspace's default, otherwise the original message's text. Creates a separate message, whose status is `fallback` with `fallbackSmsDispatched` once the SMS is accepted.",
    limit: perMinute(200),
    idempotent: true,
    body: z.object({
      messageId: z.string().max(100),
      message: TemplateText.trim().min(1).optional(),
    }),
    responses: { 201: Message },
    errors: ['FALLBACK_NOT_CONFIGURED', 'NO_ACTIVE_LINE', 'NOT_FOUND'],
    async handler({ db, caller, body, now }) {
      const original = await findMessage(db, body.messageId);
      if (!original) throw messageNotFound();
      const lead = original.leadId === null ? null : await findLead(db, original.leadId);
      const phone = original.recipientPhone ?? lead?.phones[0];
      if (phone === undefined) throw invalid('messageId', 'the recipient has no phone number');
      const account = await findFallbackAccount(db);
      if (!account?.enabled)
        throw new ApiError(
          'FALLBACK_NOT_CONFIGURED',
          'The workspace has no SMS fallback: configure it at PATCH /api/workspace/fallback-config',
        );
      const text = body.message ?? fallbackText(original, account);
      const input: MessageInput = {
        messageType: 'sms',
        message: text,
        recipientPhone: phone,
        forceFallback: true,
        smsFallbackMessage: text,
        ...(original.recipientName !== null && { recipientName: original.recipientName }),
        ...(lead && { leadId: lead.id }),
        ...(original.correlationId !== null && { correlationId: original.correlationId }),
        ...original.crm,
        stickinessPolicy: 'sticky',
      };
      const context = await loadIntakeContext(db, [input], caller.workspace);
      const draft = acceptedMessageOf(input, context, {
        now,
        source: 'fallback-sms',
        schedule: now,
        userId: caller.userId,
      });
      return { status: 201, body: await showMessage(db, await acceptMessage(db, draft, now), now) };
    },
  }),
];
