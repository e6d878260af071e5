import { z } from 'zod';
import { CrmProviderName, type CrmSubject } from './crm.ts';

/** A change that a CRM is to receive about one of its contacts. */
export type CrmChange =
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
  /** What became of a message that was written in the CRM. */
  | { kind: 'status'; messageId: string; isDelivered: boolean; reason: string | null; at: Date }
  /** The person is to be a contact. */
  | { kind: 'contact' }
  /** Of an email address; null: of the numbers of the contact. */
  | { kind: 'opt_out' | 'opt_in'; email: string | null };

/** The events that a CRM receives. */
const CRM_EVENTS = [
  'message.sent',
  'message.reply',
  'call.ended',
  'contact.opted_out',
  'contact.opted_in',
] as const;

/** What becomes of a message that was written in a CRM. */
const ENDS = ['message.delivered', 'message.failed', 'message.fallback', 'message.canceled'] as const;

/** A message that was written in a CRM carries this as its correlation id. */
export const crmCorrelationId = (provider: CrmProviderName, messageId: string): string =>
  `${provider}:${messageId}`;

/** The id of a message in a CRM; null: it was not written there. */
function writtenIn(provider: CrmProviderName, correlationId: string | null | undefined): string | null {
  const start = crmCorrelationId(provider, '');
  return correlationId?.startsWith(start) ? correlationId.slice(start.length) : null;
}

/** Which CRMs receive an event; null: none. `creating`: those in which new leads become contacts. */
export function receivingCrms(event: object): 'all' | 'creating' | null {
  const { event: name, message } = event as { event?: unknown; message?: unknown };
  if (RECEIVED.has(name)) return 'all';
  if (name === 'lead.created') return 'creating';
  if (!ENDS.some((end) => end === name)) return null;
  const { correlationId } = Written.safeParse(message).data ?? {};
  return CrmProviderName.options.some((one) => writtenIn(one, correlationId) !== null) ? 'all' : null;
}

const RECEIVED: ReadonlySet<unknown> = new Set(CRM_EVENTS);
const Written = z.object({ correlationId: z.string().nullish() });

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
    correlationId: z.string().nullish(),
    sentAt: z.coerce.date().nullish(),
  }),
});
const Ended = z.object({
  event: z.enum(ENDS),
  timestamp: z.coerce.date(),
  messageId: z.string(),
  leadId: z.string().nullish(),
  message: z.object({
    correlationId: z.string(),
    leadId: z.string().nullish(),
    recipientPhone: z.string().nullish(),
    errorMessage: z.string().nullish(),
  }),
  data: z.object({ reason: z.string().nullish() }),
});
const Created = z.object({ event: z.literal('lead.created'), leadId: z.string() });
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
const CrmEvent = z.union([Message, Ended, Reply, EndedCall, Consent, Created]);

/** What an event says, and about whom. */
export interface ReadEvent {
  subject: CrmSubject;
  messageId: string | null;
  leadId: string | null;
  /** Of whom the lead is looked for, if it is not named. */
  addresses: readonly string[];
  /** @param address the one of `addresses` that is the contact's. */
  changeFor(address: string | null): CrmChange;
}

/** @returns null if the CRM does not receive it: it is of a group, or was written there, or its contact was erased. */
export function readCrmEvent(provider: CrmProviderName, body: unknown): ReadEvent | null {
  const { data: event } = CrmEvent.safeParse(body);
  if (!event) return null;
  if (event.event === 'lead.created')
    return {
      subject: 'contact',
      messageId: null,
      leadId: event.leadId,
      addresses: [],
      changeFor: () => ({ kind: 'contact' }),
    };
  if ('message' in event && event.event !== 'message.sent' && event.event !== 'message.reply') {
    const { messageId, message, data, timestamp: at } = event;
    const written = writtenIn(provider, message.correlationId);
    if (written === null) return null;
    const isDelivered = event.event === 'message.delivered';
    const reason = message.errorMessage ?? data.reason ?? null;
    return {
      subject: 'message',
      messageId,
      leadId: event.leadId ?? message.leadId ?? null,
      addresses: [message.recipientPhone].flatMap((address) => address ?? []),
      changeFor: () => ({ kind: 'status', messageId: written, isDelivered, reason, at }),
    };
  }
  if (event.event === 'message.sent') {
    const { messageId, message, timestamp } = event;
    if (writtenIn(provider, message.correlationId) !== null) return null;
    const { recipientPhone, recipientEmail, messageType, subject = null, message: text, sentAt } = message;
    const channel = messageType === 'email' ? 'email' : 'text';
    return {
      subject: 'message',
      messageId,
      leadId: event.leadId ?? message.leadId ?? null,
      addresses: [recipientPhone, recipientEmail].flatMap((address) => address ?? []),
      changeFor: (address) => ({ kind: 'message', channel, address, subject, text, at: sentAt ?? timestamp }),
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
      changeFor: (address) => ({ kind: 'reply', channel, address, subject, text, at }),
    };
  }
  if (event.event === 'call.ended') {
    const { from, to, requestedAt, answeredAt, durationSec = 0 } = event.call;
    return {
      subject: 'call',
      messageId: null,
      leadId: null,
      addresses: [to, from],
      changeFor: (address) => ({
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
    changeFor: () => ({ kind, email: event.address.includes('@') ? event.address : null }),
  };
}
