import { z } from 'zod';
import { JsonValue } from '../base/json-value.ts';
import { SenderAuthentication, SenderWarning } from '../lines/sender-authentication.ts';
import { AutoReply } from '../drafts/ai-draft.ts';
import { Call } from '../inbox/call.ts';
import { Consent } from './consent.ts';
import { ConversationNote } from '../inbox/conversation-note.ts';
import { Conversation } from '../inbox/conversation.ts';
import { Id } from '../base/ids.ts';
import { Lead } from './lead.ts';
import { Message } from '../messages/message.ts';
import { OptOut } from './opt-out.ts';
import { OptOutSuspicion } from './opt-out-suspicion.ts';

const At = z.iso.datetime();

/** A call of a carrier for a message. */
const ExportedAttempt = z.object({
  attemptId: Id,
  kind: z.enum(['primary', 'fallback', 'bubble']),
  channel: z.string(),
  carrier: z.string(),
  address: z.string(),
  startedAt: At,
  finishedAt: At.nullable(),
  outcome: z.string().nullable(),
  reason: z.string().nullable(),
});

const ExportedFile = z.object({
  name: z.string(),
  contentType: z.string().nullable(),
  size: z.int().nullable(),
  url: z.string().nullable().meta({ description: 'A signed link, valid for 30 days; null: not stored.' }),
});

const ExportedReply = z.object({
  messageId: Id,
  lineId: Id,
  address: z.string(),
  leadId: Id.nullable(),
  campaignId: Id.nullable(),
  originalMessageId: Id.nullable().meta({ description: 'The message that it answers.' }),
  subject: z.string().nullable(),
  senderName: z.string().nullable().meta({ description: 'The name that the contact gave.' }),
  message: z.string().meta({ description: 'What the contact wrote.' }),
  transcript: z.string().nullable().meta({ description: 'What a model heard in its audio.' }),
  wholeMessage: z.string().meta({ description: 'With quoted text and signatures, as it was received.' }),
  formerTexts: z
    .array(z.object({ text: z.string(), until: At }))
    .meta({ description: 'What it said before the contact edited it or took it back.' }),
  warning: SenderWarning.nullable(),
  authentication: SenderAuthentication.nullable(),
  autoReply: z.boolean(),
  keyword: z.enum(['stop', 'start']).nullable(),
  receivedAt: At,
  attachments: z.array(ExportedFile),
});

const ExportedEvent = z.object({
  eventId: Id,
  event: z.string(),
  createdAt: At,
  body: z.record(z.string(), JsonValue).meta({ description: 'What webhooks received.' }),
  deliveries: z.array(
    z.object({
      deliveryId: Id,
      webhookId: Id,
      success: z.boolean().nullable(),
      responseStatus: z.int().nullable(),
      error: z.string().nullable(),
      attemptCount: z.int(),
      createdAt: At,
    }),
  ),
});

/** A link of a message that the contact may have opened. */
const ExportedLink = z.object({ url: z.string(), clickedAt: At.nullable(), clicks: z.int() });

/** Everything stored about a contact, as one document. Lists are in the order of their ids, which begin with the time. */
export const ContactExport = z
  .object({
    success: z.literal(true),
    exportedAt: At,
    addresses: z.array(z.string()).meta({ description: 'The phone numbers and emails of the contact.' }),
    leads: z.array(Lead.extend({ lists: z.array(z.object({ listId: Id, name: z.string() })) })),
    optOuts: z.array(OptOut),
    suspectedOptOuts: z.array(OptOutSuspicion),
    consents: z.array(Consent),
    conversations: z.array(Conversation.omit({ unread: true, unreadCount: true })),
    availability: z.array(
      z.object({ address: z.string(), checkedAt: At.meta({ description: 'When it was last reachable.' }) }),
    ),
    campaigns: z.array(
      z.object({
        campaignId: Id,
        name: z.string(),
        leadId: Id,
        state: z.string(),
        stopReason: z.string().nullable(),
        enteredAt: At,
        updatedAt: At,
      }),
    ),
    rejectedRows: z
      .array(
        z.object({
          importId: Id,
          rowNumber: z.int(),
          reason: z.string(),
          fields: z.record(z.string(), z.string()),
        }),
      )
      .meta({ description: 'Rows of imports that were not saved.' }),
    drips: z
      .array(z.object({ messageId: Id, acceptedAt: At, draft: z.record(z.string(), JsonValue) }))
      .meta({ description: 'Accepted by bulk intake; not a message yet.' }),
    messages: z.array(
      Message.extend({
        smsFallbackMessage: z.string().nullable(),
        attempts: z.array(ExportedAttempt),
        links: z.array(ExportedLink),
      }),
    ),
    replies: z.array(ExportedReply),
    notes: z.array(ConversationNote),
    drafts: z.array(AutoReply),
    calls: z.array(Call),
    events: z.array(ExportedEvent).meta({ description: 'Of the last 30 days.' }),
  })
  .meta({ id: 'ContactExport' });
export type ContactExport = z.infer<typeof ContactExport>;
