import { z } from 'zod';
import type { CrmSubject } from './crm.ts';

/** What is told to a CRM about one of its contacts. */
export type CrmNews =
  | {
      kind: 'message' | 'reply';
      channel: 'text' | 'email';
      /** Of the contact; null: it is not known. */
      address: string | null;
      subject: string | null;
      text: string;
      at: Date;
    }
  | {
      kind: 'call';
      isOutbound: boolean;
      isAnswered: boolean;
      from: string;
      to: string;
      /** Talk time. */
      durationSec: number;
      at: Date;
    }
  /** Of an email address; null: of the numbers of the contact. */
  | { kind: 'opt_out' | 'opt_in'; email: string | null };

/** The events of which a CRM is told. */
export const CRM_EVENTS = [
  'message.sent',
  'message.reply',
  'call.ended',
  'contact.opted_out',
  'contact.opted_in',
] as const;

const Message = z.object({
  event: z.literal('message.sent'),
  timestamp: z.coerce.date(),
  messageId: z.string(),
  leadId: z.string().optional(),
  message: z.object({
    message: z.string(),
    messageType: z.string(),
    subject: z.string().nullish(),
    recipientPhone: z.string().nullish(),
    recipientEmail: z.string().nullish(),
    leadId: z.string().nullish(),
    sentAt: z.coerce.date().nullish(),
  }),
});
const Reply = z.object({
  event: z.literal('message.reply'),
  timestamp: z.coerce.date(),
  messageId: z.string(),
  leadId: z.string().optional(),
  subject: z.string().optional(),
  message: z.string(),
  repliedAtUtc: z.coerce.date(),
  data: z.object({
    reply: z.object({
      recipientPhone: z.string().nullish(),
      recipientEmail: z.string().nullish(),
      group: z.unknown(),
    }),
  }),
});
const EndedCall = z.object({
  event: z.literal('call.ended'),
  timestamp: z.coerce.date(),
  callId: z.string(),
  call: z.object({
    from: z.string(),
    to: z.string(),
    requestedAt: z.coerce.date(),
    answeredAt: z.coerce.date().optional(),
    durationSec: z.number().optional(),
  }),
});
const Consent = z.object({
  event: z.enum(['contact.opted_out', 'contact.opted_in']),
  timestamp: z.coerce.date(),
  address: z.string(),
  replyId: z.string().optional(),
});
const CrmEvent = z.union([Message, Reply, EndedCall, Consent]);

/** What an event says, and about whom. */
export interface ReadEvent {
  subject: CrmSubject;
  messageId: string | null;
  leadId: string | null;
  /** Of whom the lead is looked for, if it is not named. */
  addresses: readonly string[];
  /** @param address the one of `addresses` that is the contact's. */
  newsFor(address: string | null): CrmNews;
}

/** @returns null if no CRM is told of it: it is of a group, or its contact was erased. */
export function readCrmEvent(body: unknown): ReadEvent | null {
  const { data: event } = CrmEvent.safeParse(body);
  if (!event) return null;
  if (event.event === 'message.sent') {
    const { messageId, message, timestamp } = event;
    const { recipientPhone, recipientEmail, messageType, subject = null, message: text, sentAt } = message;
    const channel = messageType === 'email' ? 'email' : 'text';
    return {
      subject: 'message',
      messageId,
      leadId: event.leadId ?? message.leadId ?? null,
      addresses: [recipientPhone, recipientEmail].flatMap((address) => address ?? []),
      newsFor: (address) => ({ kind: 'message', channel, address, subject, text, at: sentAt ?? timestamp }),
    };
  }
  if (event.event === 'message.reply') {
    const { messageId, leadId = null, subject = null, message: text, repliedAtUtc: at } = event;
    const { recipientPhone, recipientEmail, group } = event.data.reply;
    if (group !== null && group !== undefined) return null;
    const channel = recipientEmail && !recipientPhone ? 'email' : 'text';
    return {
      subject: 'reply',
      messageId,
      leadId,
      addresses: [recipientPhone, recipientEmail].flatMap((address) => address ?? []),
      newsFor: (address) => ({ kind: 'reply', channel, address, subject, text, at }),
    };
  }
  if (event.event === 'call.ended') {
    const { from, to, requestedAt, answeredAt, durationSec = 0 } = event.call;
    return {
      subject: 'call',
      messageId: null,
      leadId: null,
      addresses: [to, from],
      newsFor: (address) => ({
        kind: 'call',
        isOutbound: address !== from,
        isAnswered: answeredAt !== undefined,
        from,
        to,
        durationSec,
        at: requestedAt,
      }),
    };
  }
  const kind = event.event === 'contact.opted_out' ? 'opt_out' : 'opt_in';
  return {
    subject: kind,
    messageId: null,
    leadId: null,
    addresses: [event.address],
    newsFor: () => ({ kind, email: event.address.includes('@') ? event.address : null }),
  };
}
