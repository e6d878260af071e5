import { z } from 'zod';
import { MAX_PARTICIPANTS } from '../inbox/group.ts';
import { Transport } from '../messages/transport.ts';
import { SenderAuthentication } from './sender-authentication.ts';
import { shortenMarks, textProblem, toStorable, truncate, withoutTurns } from '../base/text.ts';

/** The six reactions of Apple's Messages, in the order of Apple's numbers. */
export const TAPBACKS = ['love', 'like', 'dislike', 'laugh', 'emphasize', 'question'] as const;
export const Reaction = z.enum([...TAPBACKS, 'emoji', 'sticker']);
export type Reaction = z.infer<typeof Reaction>;

/** Longer texts are truncated. */
export const MAX_TEXT = 100_000;
/** Further files of a message are dropped. */
export const MAX_FILES = 100;
/** Ids are indexed, and PostgreSQL limits an index entry to about 2,700 bytes. */
export const MAX_CARRIER_ID = 500;
const MAX_REASON = 500;
const MAX_NAME = 255;
/** The maximum length of a line of an email (RFC 5322, section 2.1.1). */
const MAX_SUBJECT = 998;
/** Of one callback. */
export const MAX_EVENTS = 1000;
const MAX_SECONDS = 10 * 365 * 86_400;
const MAX_CENTS = 100_000_000;

/** Free text, without characters that cannot be stored, or that take long to compare or show. */
const freeText = (max: number) =>
  z.string().transform((text) => truncate(shortenMarks(toStorable(text)), max));

/** A name that somebody gave themselves, a group or a file. */
const Name = freeText(MAX_NAME).transform(withoutTurns);

/** An identifier: refused if it cannot be stored unchanged. */
const identifier = (max: number) =>
  z
    .string()
    .max(max)
    .superRefine((text, context) => {
      const message = textProblem(text);
      if (message !== null) context.addIssue({ code: 'custom', message });
    });
const CarrierId = identifier(MAX_CARRIER_ID).min(1);
const Address = identifier(320);

/** The longest emoji are sequences of about 20 UTF-16 code units. */
const MAX_EMOJI = 64;

/** Removes folders and control characters. A long name loses its beginning, because its end has the extension. */
const sanitizeFileName = (raw: string): string => {
  const last = raw.split(/[/\\]/).at(-1) ?? '';
  const name = withoutTurns(toStorable(last))
    .replaceAll(/\p{Cc}/gu, '')
    .trim();
  return name.slice(-MAX_NAME).toWellFormed() || 'attachment';
};

/** The name of the file at the end of a URL; '' if there is none. */
export function fileNameInUrl(url: string): string {
  const last = URL.parse(url)?.pathname.split('/').at(-1) ?? '';
  return last === '' ? '' : sanitizeFileName(decoded(last));
}

/** Unchanged if an escape sequence is malformed. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `type/subtype` with parameters, in printable characters: it becomes a response header. */
const isMediaType = (raw: string): boolean =>
  /^[a-z0-9][\w!#$&^.+-]*\/[a-z0-9][\w!#$&^.+-]*($|[ ;])/i.test(raw) && /^[ -~]{1,200}$/.test(raw);

export const InboundAttachment = z.object({
  name: z.string().transform(sanitizeFileName),
  contentType: z
    .string()
    .nullable()
    .transform((raw) => (raw !== null && isMediaType(raw) ? raw : null)),
  url: identifier(Number.POSITIVE_INFINITY),
});
const Files = z.array(InboundAttachment).transform((files) => files.slice(0, MAX_FILES));
export type InboundAttachment = z.infer<typeof InboundAttachment>;

/** `eventId` is unique per carrier and line: an event that was processed before changes nothing. */
const eventBase = { eventId: CarrierId, at: z.coerce.date() };

const Receipt = z.object({
  kind: z.literal('receipt'),
  ...eventBase,
  carrierMessageId: CarrierId,
  status: z.enum(['delivered', 'failed']),
  /** How it has travelled, if the carrier tells only afterwards. */
  transport: Transport.optional(),
  reason: freeText(MAX_REASON).optional(),
  /** It failed because the recipient has opted out at the carrier. */
  optedOut: z.literal(true).optional(),
  /** It arrived, but the recipient reported it as spam: nothing more must be sent there. */
  complaint: z.literal(true).optional(),
  /** It failed because the recipient does not exist: nothing more must be sent there. */
  deadAddress: z.literal(true).optional(),
  /** It failed because the recipient cannot be reached on this channel (no iMessage). */
  unavailable: z.literal(true).optional(),
  /** It failed because of the account, the sender or its settings: it can be sent once these are in order. */
  ofLine: z.literal(true).optional(),
});

const Read = z.object({
  kind: z.literal('read'),
  ...eventBase,
  carrierMessageId: CarrierId,
  transport: Transport.optional(),
});

export const InboundGroup = z.object({
  /** The carrier's id of the conversation. */
  id: CarrierId,
  name: Name.optional(),
  /** The other participants. Empty: the carrier does not name them. */
  participants: z.array(Address.min(1)).transform((addresses) => addresses.slice(0, MAX_PARTICIPANTS)),
});
export type InboundGroup = z.infer<typeof InboundGroup>;

const Reply = z.object({
  kind: z.literal('reply'),
  ...eventBase,
  /** The carrier's id of the reply itself. */
  carrierMessageId: CarrierId,
  /** Tells messages apart that have the same id at the carrier. */
  fingerprint: identifier(100).optional(),
  from: Address.min(1),
  /** The name that the sender gave. */
  fromName: Name.optional(),
  /** Who is to be answered instead of `from`. */
  answersTo: Address.optional(),
  answersToName: Name.optional(),
  subject: freeText(MAX_SUBJECT).optional(),
  text: freeText(MAX_TEXT),
  /** With quoted text and signatures, if `text` is only a part of it. */
  wholeText: freeText(MAX_TEXT).optional(),
  attachments: Files,
  /** The carrier's id of the outbound message that it replies to, if the protocol has one. */
  replyTo: CarrierId.optional(),
  /** Email: the ids of the thread, oldest first. */
  references: z.array(CarrierId).max(100).optional(),
  /** Out-of-office notes, `Auto-Submitted` and bounces are stored, but do not count as replies. */
  autoReply: z.boolean(),
  /** Absent: nobody has checked the sender. */
  authentication: SenderAuthentication.optional(),
  /** It was written to a group conversation, to nobody in particular. */
  group: InboundGroup.optional(),
});
export type InboundReply = z.infer<typeof Reply>;

/** A contact changed the text of a reply. */
const Edited = z.object({
  kind: z.literal('edited'),
  ...eventBase,
  /** The carrier's id of the reply. */
  carrierMessageId: CarrierId,
  text: freeText(MAX_TEXT),
});

/** A contact took a reply back. */
const Unsent = z.object({
  kind: z.literal('unsent'),
  ...eventBase,
  /** The carrier's id of the reply. */
  carrierMessageId: CarrierId,
});
export type ReplyChange = z.infer<typeof Edited> | z.infer<typeof Unsent>;

/**
 * A message from the line's own account. Most were sent through us and are known, or will be once their send is settled; the others a person
 * has sent from a phone or computer.
 */
const OwnMessage = z.object({
  kind: z.literal('own_message'),
  ...eventBase,
  carrierMessageId: CarrierId,
  /** Of a group: the carrier's id of it, or a participant. */
  to: Address.min(1),
  text: freeText(MAX_TEXT),
  /** It was written to a group conversation. */
  group: InboundGroup.optional(),
  fileNames: z.array(z.string().transform(sanitizeFileName)).transform((names) => names.slice(0, MAX_FILES)),
});
export type OwnMessage = z.infer<typeof OwnMessage>;

/** More files of a reply that was reported before: some carriers deliver a large batch in parts. */
const ReplyAttachments = z.object({
  kind: z.literal('reply_attachments'),
  ...eventBase,
  /** The carrier's id of the reply they belong to. */
  carrierMessageId: CarrierId,
  attachments: Files,
});

const ReactionEvent = z.object({
  kind: z.literal('reaction'),
  ...eventBase,
  /** The carrier's id of the message reacted to. */
  carrierMessageId: CarrierId,
  /** The part of the message, if it is another than the first. */
  part: z.int().min(1).max(MAX_FILES).optional(),
  reaction: Reaction,
  /** The emoji of the reaction `emoji`. */
  emoji: freeText(MAX_EMOJI).optional(),
  removed: z.boolean(),
  from: Address.min(1),
});

const RecordingUrl = identifier(2000);

const Call = z.object({
  kind: z.literal('call'),
  ...eventBase,
  callId: CarrierId,
  /** Empty when the caller withholds it. */
  from: Address,
  to: Address,
  status: z.enum(['requested', 'ringing', 'answered', 'billed', 'failed']),
  durationSec: z.number().min(0).max(MAX_SECONDS).optional(),
  billedSec: z.number().min(0).max(MAX_SECONDS).optional(),
  billedCents: z.number().min(0).max(MAX_CENTS).optional(),
  hangupCause: freeText(MAX_REASON).optional(),
  recordingUrl: RecordingUrl.optional(),
});
export type InboundCall = z.infer<typeof Call>;

/** The recording of a call, for carriers that report it separately, before or after the call's end. */
const Recording = z.object({
  kind: z.literal('recording'),
  ...eventBase,
  callId: CarrierId,
  recordingUrl: RecordingUrl,
});
export type CallRecording = z.infer<typeof Recording>;

/** An inbound event, in the same format for every carrier. */
export const CarrierEvent = z.discriminatedUnion('kind', [
  Receipt,
  Read,
  Reply,
  ReplyAttachments,
  Edited,
  Unsent,
  OwnMessage,
  ReactionEvent,
  Call,
  Recording,
]);
export type CarrierEvent = z.infer<typeof CarrierEvent>;

/** A contact types, or no longer does. Whoever looks at the conversation is told, and nothing is stored. */
const Typing = z.object({
  kind: z.literal('typing'),
  ...eventBase,
  from: Address.min(1),
  isOn: z.boolean(),
});
export type ReportedTyping = z.infer<typeof Typing>;

/** What a callback reports. */
export const CarrierReport = z.discriminatedUnion('kind', [...CarrierEvent.options, Typing]);
export type CarrierReport = z.infer<typeof CarrierReport>;

/** Earlier timestamps come from a clock that was never set. */
const EARLIEST = Date.UTC(2000, 0);
/** A carrier's clock may be ahead of ours. */
const CLOCK_SKEW_MS = 5 * 60_000;

const CarrierReports = z.array(CarrierReport).max(MAX_EVENTS);

/**
 * Limits the number and length of what an adapter parsed, removes text that cannot be stored, and replaces
 * implausible timestamps by `now`.
 * @throws ZodError
 */
export function sanitizeEvents<Reported extends CarrierReport>(
  parsed: readonly Reported[],
  now: Date,
): Reported[] {
  const isPlausible = (at: Date): boolean =>
    at.getTime() >= EARLIEST && at.getTime() <= now.getTime() + CLOCK_SKEW_MS;
  return CarrierReports.parse(parsed).map((event) =>
    isPlausible(event.at) ? event : { ...event, at: now },
  ) as Reported[];
}
