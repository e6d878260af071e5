import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { listOf } from '#domain/base/bounded-schema.ts';
import { CarrierReport, MAX_EVENTS, MAX_FILES } from '#domain/lines/carrier-event.ts';
import { Channel } from '#domain/base/channel.ts';
import { MAX_PARTICIPANTS } from '#domain/inbox/group.ts';
import { Effect } from '#domain/messages/effect.ts';
import { MessageAction } from '#domain/messages/message-action.ts';
import { Explanation } from './http-response.ts';

/** The HTTP protocol of the simulated carrier. */

const CarrierGroup = z.object({
  id: z.string().min(1).max(500).nullable(),
  participants: listOf(z.string().min(1).max(320), MAX_PARTICIPANTS),
});

/** `POST /carrier/messages`, idempotent by `clientReference`. */
export const SendRequest = z.object({
  clientReference: z.string().min(1).max(200),
  messageReference: z.string().min(1).max(200),
  lineId: z.string().min(1).max(100),
  channel: Channel,
  from: z.string().max(320),
  /** The workspace's SMS account, for messages that are not sent by the line. */
  account: z.string().optional(),
  to: z.string().min(1).max(320),
  /** The group to which it goes; `to` is its first participant. A group without an id is created. */
  group: CarrierGroup.optional(),
  subject: z.string().optional(),
  text: z.string(),
  attachments: listOf(
    z.object({
      name: z.string(),
      url: z.string(),
      contentType: z.string().nullable(),
      voiceNote: z.boolean(),
    }),
    MAX_FILES,
  ),
  /** The carrier's id of the message that it answers. */
  replyTo: z.string().min(1).max(500).optional(),
  effect: Effect.optional(),
  callbackUrl: z.url({ protocol: /^https?$/ }),
});
export type SendRequest = z.infer<typeof SendRequest>;

/** `POST /carrier/actions`, idempotent by `clientReference`: what a line does to a message, or in a conversation. Responds 204. */
export const ActionRequest = z.object({
  clientReference: z.string().min(1).max(200),
  lineId: z.string().min(1).max(100),
  messageId: z.string().min(1).max(200).nullable(),
  to: z.string().min(1).max(320),
  action: MessageAction,
});
export type ActionRequest = z.infer<typeof ActionRequest>;

/** The response to an accepted send, and to a query for one. */
export const Accepted = z.object({
  id: z.string().min(1),
  status: z.literal('accepted'),
  groupId: z.string().min(1).max(500).optional(),
});
export type Accepted = z.infer<typeof Accepted>;

/** `POST /carrier/lines`, idempotent by `lineId`. */
export const AllocateRequest = z.object({
  lineId: z.string().min(1).max(100),
  channel: Channel,
  firstName: z.string(),
  lastName: z.string(),
  email: z.string().nullable(),
  areaCode: z.string().nullable(),
  country: z.string().length(2),
});
export type AllocateRequest = z.infer<typeof AllocateRequest>;
export const Allocated = z.object({ address: z.string().min(1) });

/** `PUT /carrier/lines/{lineId}/inbound` */
export const InboundSettings = z.object({ callbackUrl: z.url({ protocol: /^https?$/ }) });

export const ERROR_CODES = [
  'invalid_request',
  'unauthorized',
  'forbidden',
  'not_found',
  'not_registered',
  'opted_out',
  'rejected',
  'rate_limited',
  'temporarily_unavailable',
  'line_down',
  'no_such_line',
] as const;

/** Every response other than 2xx. */
export const ErrorResponse = z.object({
  error: z.object({
    code: z.enum(ERROR_CODES),
    message: Explanation,
    retryAfterSeconds: z.number().min(0).optional(),
  }),
});
export type ErrorCode = (typeof ERROR_CODES)[number];

export const AvailabilityResponse = z.object({ available: z.boolean() });

/** The body posted to a `callbackUrl`. URLs of files are relative to the carrier's URL. */
export const Callback = z.object({
  lineId: z.string(),
  events: listOf(CarrierReport, MAX_EVENTS).refine(({ length }) => length > 0, 'must not be empty'),
});

type OnWire<Event> = Event extends { at: Date } ? Omit<Event, 'at'> & { at: string } : never;
/** A serialized event, with its time in ISO 8601. */
export type WireEvent = OnWire<CarrierReport>;

/**
 * The key that signs callbacks by the Standard Webhooks scheme. It is derived from the secret, because it must not
 * authenticate requests.
 */
export function callbackKey(secret: string): string {
  return `whsec_${createHmac('sha256', secret).update('callbacks').digest('base64')}`;
}
