import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { CarrierEvent } from '#domain/carrier-event.ts';
import { Channel } from '#domain/channel.ts';

/** The simulated carrier's own HTTP protocol, as its document would state it. */

/** `POST /carrier/messages`. The same `clientReference` again gets the same answer and sends nothing. */
export const SendRequest = z.object({
  clientReference: z.string().min(1).max(200),
  messageReference: z.string().min(1).max(200),
  lineId: z.string().min(1).max(100),
  channel: Channel,
  from: z.string().max(320),
  /** The workspace's own SMS account, where not the line sends. */
  account: z.string().optional(),
  to: z.string().min(1).max(320),
  subject: z.string().optional(),
  text: z.string(),
  attachments: z.array(
    z.object({
      name: z.string(),
      url: z.string(),
      contentType: z.string().nullable(),
      voiceNote: z.boolean(),
    }),
  ),
  callbackUrl: z.url({ protocol: /^https?$/ }),
});
export type SendRequest = z.infer<typeof SendRequest>;

/** The answer to a send that was taken, and to a question for one. */
export const Accepted = z.object({ id: z.string().min(1), status: z.literal('accepted') });
export type Accepted = z.infer<typeof Accepted>;

/** `POST /carrier/lines`: the same line again gets the same address. */
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

/** Every answer other than 2xx. */
export const ErrorAnswer = z.object({
  error: z.object({
    code: z.enum(ERROR_CODES),
    message: z.string(),
    retryAfterSeconds: z.number().min(0).optional(),
  }),
});
export type ErrorCode = (typeof ERROR_CODES)[number];

export const AvailabilityResponse = z.object({ available: z.boolean() });

/** What is posted to a `callbackUrl`. The addresses of files in it are relative to the carrier's. */
export const Callback = z.object({ lineId: z.string(), events: z.array(CarrierEvent).min(1) });

type OnWire<Event> = Event extends { at: Date } ? Omit<Event, 'at'> & { at: string } : never;
/** An event as it is written: its instant in ISO 8601. */
export type WireEvent = OnWire<CarrierEvent>;

/**
 * The key that signs callbacks, in the form of the Standard Webhooks scheme. It is derived, so that what signs
 * callbacks does not also authenticate requests.
 */
export function callbackKey(secret: string): string {
  return `whsec_${createHmac('sha256', secret).update('callbacks').digest('base64')}`;
}
