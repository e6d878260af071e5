import { z } from 'zod';

export const REACTIONS = ['love', 'like', 'dislike', 'laugh', 'emphasize', 'question'] as const;
export const Reaction = z.enum(REACTIONS);
export type Reaction = z.infer<typeof Reaction>;

export const InboundAttachment = z.object({
  name: z.string(),
  contentType: z.string().nullable(),
  url: z.string(),
});
export type InboundAttachment = z.infer<typeof InboundAttachment>;

/** Unique per carrier and line: what was seen before changes nothing. */
const seen = { eventId: z.string().min(1), at: z.coerce.date() };

const Receipt = z.object({
  kind: z.literal('receipt'),
  ...seen,
  carrierMessageId: z.string(),
  status: z.enum(['delivered', 'failed']),
  reason: z.string().optional(),
  /** It failed because the carrier knows that the recipient wants no more messages. */
  optedOut: z.literal(true).optional(),
  /** It failed because there is no such recipient, or no longer: nothing more is to be sent there. */
  deadAddress: z.literal(true).optional(),
});

const Read = z.object({ kind: z.literal('read'), ...seen, carrierMessageId: z.string() });

const Reply = z.object({
  kind: z.literal('reply'),
  ...seen,
  /** The carrier's id of the reply itself. */
  carrierMessageId: z.string(),
  from: z.string(),
  text: z.string(),
  attachments: z.array(InboundAttachment),
  /** The carrier's id of the outbound message it answers, when the protocol tells. */
  replyTo: z.string().optional(),
  /** Out of office, `Auto-Submitted`, bounce notice: stored, but it does not count as a reply. */
  autoReply: z.boolean(),
});
export type InboundReply = z.infer<typeof Reply>;

/** More files of a reply that was told before: a large burst arrives bit by bit. */
const ReplyAttachments = z.object({
  kind: z.literal('reply_attachments'),
  ...seen,
  /** The carrier's id of the reply they belong to. */
  carrierMessageId: z.string(),
  attachments: z.array(InboundAttachment),
});

const ReactionEvent = z.object({
  kind: z.literal('reaction'),
  ...seen,
  /** The carrier's id of the message reacted to. */
  carrierMessageId: z.string(),
  reaction: Reaction,
  removed: z.boolean(),
  from: z.string(),
});

const Call = z.object({
  kind: z.literal('call'),
  ...seen,
  callId: z.string(),
  from: z.string(),
  to: z.string(),
  status: z.enum(['requested', 'ringing', 'answered', 'billed', 'failed']),
  durationSec: z.number().optional(),
  billedSec: z.number().optional(),
  billedCents: z.number().optional(),
  hangupCause: z.string().optional(),
  recordingUrl: z.string().optional(),
});
export type InboundCall = z.infer<typeof Call>;

/** The recording of a call, from carriers that tell of it apart, before or after the call's end. */
const Recording = z.object({
  kind: z.literal('recording'),
  ...seen,
  callId: z.string(),
  recordingUrl: z.string(),
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
