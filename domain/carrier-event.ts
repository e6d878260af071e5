import { z } from 'zod';
import { cut, storable, textProblem } from './text.ts';

export const REACTIONS = ['love', 'like', 'dislike', 'laugh', 'emphasize', 'question'] as const;
export const Reaction = z.enum(REACTIONS);
export type Reaction = z.infer<typeof Reaction>;

/** What is kept of the text of one message. */
export const MAX_TEXT = 100_000;
/** Files of one message that are kept. */
export const MAX_FILES = 100;
/** Ids stand in indexes, whose entries PostgreSQL limits to about 2,700 bytes. */
export const MAX_CARRIER_ID = 500;
const MAX_REASON = 500;
const MAX_NAME = 255;
const MAX_EVENTS = 1000;
const MAX_SECONDS = 10 * 365 * 86_400;
const MAX_CENTS = 100_000_000;

/** Text that people wrote: what cannot be kept of it is left out. */
const written = (max: number) => z.string().transform((text) => cut(storable(text), max));

/** What is looked up and compared: what cannot be kept is refused, since no part of it names the same. */
const named = (max: number) =>
  z
    .string()
    .max(max)
    .superRefine((text, context) => {
      const message = textProblem(text);
      if (message !== null) context.addIssue({ code: 'custom', message });
    });
const CarrierId = named(MAX_CARRIER_ID).min(1);
const Address = named(320);

/** The name of a file without folders and control characters; of a long one the end, where its type stands. */
const fileName = (told: string): string => {
  const last = told.split(/[/\\]/).at(-1) ?? '';
  const name = storable(last)
    .replaceAll(/\p{Cc}/gu, '')
    .trim();
  return name.slice(-MAX_NAME).toWellFormed() || 'attachment';
};

/** `type/subtype` with parameters, of printable characters: it becomes a header when the file is fetched. */
const isMediaType = (told: string): boolean =>
  /^[a-z0-9][\w!#$&^.+-]*\/[a-z0-9][\w!#$&^.+-]*($|[ ;])/i.test(told) && /^[ -~]{1,200}$/.test(told);

export const InboundAttachment = z.object({
  name: z.string().transform(fileName),
  contentType: z
    .string()
    .nullable()
    .transform((told) => (told !== null && isMediaType(told) ? told : null)),
  url: named(Number.POSITIVE_INFINITY),
});
const Files = z.array(InboundAttachment).transform((files) => files.slice(0, MAX_FILES));
export type InboundAttachment = z.infer<typeof InboundAttachment>;

/** Unique per carrier and line: what was seen before changes nothing. */
const seen = { eventId: CarrierId, at: z.coerce.date() };

const Receipt = z.object({
  kind: z.literal('receipt'),
  ...seen,
  carrierMessageId: CarrierId,
  status: z.enum(['delivered', 'failed']),
  reason: written(MAX_REASON).optional(),
  /** It failed because the carrier knows that the recipient wants no more messages. */
  optedOut: z.literal(true).optional(),
  /** It failed because there is no such recipient, or no longer: nothing more is to be sent there. */
  deadAddress: z.literal(true).optional(),
});

const Read = z.object({ kind: z.literal('read'), ...seen, carrierMessageId: CarrierId });

const Reply = z.object({
  kind: z.literal('reply'),
  ...seen,
  /** The carrier's id of the reply itself. */
  carrierMessageId: CarrierId,
  from: Address.min(1),
  text: written(MAX_TEXT),
  attachments: Files,
  /** The carrier's id of the outbound message it answers, when the protocol tells. */
  replyTo: CarrierId.optional(),
  /** Out of office, `Auto-Submitted`, bounce notice: stored, but it does not count as a reply. */
  autoReply: z.boolean(),
});
export type InboundReply = z.infer<typeof Reply>;

/** More files of a reply that was told before: a large burst arrives bit by bit. */
const ReplyAttachments = z.object({
  kind: z.literal('reply_attachments'),
  ...seen,
  /** The carrier's id of the reply they belong to. */
  carrierMessageId: CarrierId,
  attachments: Files,
});

const ReactionEvent = z.object({
  kind: z.literal('reaction'),
  ...seen,
  /** The carrier's id of the message reacted to. */
  carrierMessageId: CarrierId,
  reaction: Reaction,
  removed: z.boolean(),
  from: Address.min(1),
});

const RecordingUrl = named(2000);

const Call = z.object({
  kind: z.literal('call'),
  ...seen,
  callId: CarrierId,
  /** Empty when the caller withholds it. */
  from: Address,
  to: Address,
  status: z.enum(['requested', 'ringing', 'answered', 'billed', 'failed']),
  durationSec: z.number().min(0).max(MAX_SECONDS).optional(),
  billedSec: z.number().min(0).max(MAX_SECONDS).optional(),
  billedCents: z.number().min(0).max(MAX_CENTS).optional(),
  hangupCause: written(MAX_REASON).optional(),
  recordingUrl: RecordingUrl.optional(),
});
export type InboundCall = z.infer<typeof Call>;

/** The recording of a call, from carriers that tell of it apart, before or after the call's end. */
const Recording = z.object({
  kind: z.literal('recording'),
  ...seen,
  callId: CarrierId,
  recordingUrl: RecordingUrl,
});
export type CallRecording = z.infer<typeof Recording>;

/** What carriers tell of: the same few facts from every protocol. */
export const CarrierEvent = z.discriminatedUnion('kind', [
  Receipt,
  Read,
  Reply,
  ReplyAttachments,
  ReactionEvent,
  Call,
  Recording,
]);
export type CarrierEvent = z.infer<typeof CarrierEvent>;

/** Instants before this one are a clock that was never set. */
const EARLIEST = Date.UTC(2000, 0);
/** A carrier's clock may be ahead of ours. */
const CLOCK_SKEW_MS = 5 * 60_000;

/**
 * What an adapter made of a provider's words, fit to be kept: bounded in number and length, of text that can be stored,
 * at instants that can be.
 * @throws ZodError
 */
export function acceptedEvents(told: readonly CarrierEvent[], now: Date): CarrierEvent[] {
  const isPlausible = (at: Date): boolean =>
    at.getTime() >= EARLIEST && at.getTime() <= now.getTime() + CLOCK_SKEW_MS;
  return z
    .array(CarrierEvent)
    .max(MAX_EVENTS)
    .parse(told)
    .map((event) => (isPlausible(event.at) ? event : { ...event, at: now }));
}
