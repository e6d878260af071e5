import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { CarrierEvent } from '#domain/carrier-event.ts';
import type { Channel } from '#domain/channel.ts';
import type { SendOutcome } from '#domain/send-outcome.ts';

export type { CarrierEvent } from '#domain/carrier-event.ts';
export type { SendOutcome } from '#domain/send-outcome.ts';

/**
 * What every carrier adapter offers: one file per carrier, one line in `registry.ts`.
 * An adapter speaks one provider's protocol and knows nothing of lines, tenants or pacing.
 */
export interface Carrier<Config = unknown> {
  /** Stands in `lines.carrier`, in the callback's address and in the task queue's name. */
  readonly name: string;
  readonly channels: readonly Channel[];
  /** A line's settings at this carrier. Fields marked `.meta({ secret: true })` are stored encrypted and never shown. */
  readonly config: z.ZodType<Config>;
  /** How long one call may take, in milliseconds; after it the outcome is unknown, not failed. */
  readonly timeoutMs: number;

  /** The setting that stands as `secret` in the address of the line's callbacks, where the provider signs none. */
  readonly callbackSecret?: string;
  /**
   * The servers that the settings name, by setting: URLs, or host names of mail servers. They are the tenant's own
   * word, and are checked before they are kept; connections to them go through the guard.
   */
  servers?(config: Config): Record<string, string>;

  /** Provisions new lines; absent if lines are set up by hand. */
  readonly provisioning?: LineProvisioning<Config>;
  /**
   * Tells the carrier where to report replies, reactions, reads and calls of a line; again changes nothing. Absent
   * where somebody enters the address there.
   */
  configureInbound?(config: Config, lineId: string, callbackUrl: string): Promise<void>;

  /** Hands one message to the carrier. Never throws: whatever happens is one of the outcomes. */
  send(config: Config, message: OutboundMessage, signal: AbortSignal): Promise<SendOutcome>;
  /** Asks what became of a call whose answer was lost. */
  reconcile(config: Config, attempt: AttemptReference): Promise<ReconcileOutcome>;
  checkAvailability(config: Config, address: string): Promise<Availability>;
  /** Whether the line can send: the probe behind `healthCheck`. Throws with the reason when it cannot. */
  probe(config: Config, lineId: string): Promise<void>;
  /**
   * Whether a callback can be this carrier's, by its address and headers: before its body is read.
   * Throws `BadSignature` otherwise.
   */
  checkCallback?(config: Config, head: CallbackHead): void;
  /**
   * Verifies that a callback came from this carrier, about the line in its address, and reads its events. Their
   * attachments' addresses are absolute. Throws `BadSignature`; `ZodError` or `Unreadable` when the body is malformed.
   * @param tenant whose turn reading untrusted content is.
   */
  parseCallback(config: Config, request: CallbackRequest, tenant: string): Promise<CarrierEvent[]>;
  /**
   * Reads what came in since `position`, where the provider is asked; null when the settings name no inbox. Null for the
   * position: nothing is read but the position at the end of what there is.
   * @param tenant whose turn reading untrusted content is.
   */
  readInbox?(config: Config, position: string | null, tenant: string): Promise<InboxBatch | null>;
  /** What callbacks are answered with where a JSON object is not understood. */
  readonly callbackAnswer?: { contentType: string; body: string };
  /** How large a callback may be, in bytes, where its files come along in it. */
  readonly callbackLimit?: number;
  /**
   * Opens a file that a callback told of; only this carrier's own addresses.
   * Throws when it is not one or cannot be had just now.
   */
  openMedia(config: Config, url: string, signal: AbortSignal): Promise<CarrierMedia>;
  /** Lets go of the connections it keeps. */
  close(): Promise<void>;
}

export interface LineProvisioning<Config = unknown> {
  /** May be retried after a crash: the same line gets the same identity. Throws `LineRefused` when the line is permanently unavailable, anything else when it is unavailable now. */
  allocate(line: NewLine): Promise<{ address: string; config: Config }>;
}

export interface InboxBatch {
  /** In the order they came, each with the position behind it. */
  read: InboxItem[];
  more: boolean;
}

export interface InboxItem {
  events: CarrierEvent[];
  position: string;
  /** A message that is passed over because it cannot be read: the name it has in the inbox, and why. */
  unreadable?: { reference: string; reason: string };
}

export interface NewLine {
  lineId: string;
  channel: Channel;
  firstName: string;
  lastName: string;
  /** The address wished for an email line. */
  email: string | null;
  areaCode: string | null;
  /** ISO 3166-1 alpha-2. */
  country: string;
}

/** The carrier does not give out such a line, now or later. The message says why. */
export class LineRefused extends Error {
  override readonly name = 'LineRefused';
}

export interface OutboundMessage {
  /** Unique per attempt: the carrier's reference for de-duplication and for `reconcile`. */
  attemptId: string;
  /** The same for every attempt at one message: what the carrier's own logs can be searched by. */
  messageId: string;
  lineId: string;
  channel: Channel;
  /** The line's own identity: a phone number in E.164 or an email address. */
  from: { address: string; name: string };
  to: { address: string; name: string | null };
  /** Email only; without it the first line of the text serves. */
  subject?: string;
  text: string;
  attachments: OutboundAttachment[];
  /** Where the carrier reports receipts and replies, e.g. `https://…/callbacks/carriers/simulated/{lineId}`. */
  callbackUrl: string;
  /** Email only: where a one-click unsubscribe is posted (RFC 8058). */
  unsubscribeUrl?: string;
}

export interface OutboundAttachment {
  name: string;
  url: string;
  contentType: string | null;
  voiceNote: boolean;
}

/** Reads an outbound attachment, for carriers that want its content and not its URL. Throws when it cannot be had. */
export type FetchMedia = (
  url: string,
  signal: AbortSignal,
) => Promise<{ content: Buffer; contentType: string | null }>;

export interface CarrierMedia {
  contentType: string | null;
  /** In bytes, where it is told beforehand. */
  size?: number;
  body: Readable;
}

export interface AttemptReference {
  attemptId: string;
  lineId: string;
  channel: Channel;
  to: string;
  startedAt: Date;
  /** What was sent, for carriers that know no reference of ours; null when it can no longer be told. */
  text: string | null;
  attachmentCount: number;
  /** The carrier's ids of other attempts at this recipient: what is known to be another message. */
  takenIds: readonly string[];
}

export type ReconcileOutcome =
  | { kind: 'accepted'; carrierMessageId: string }
  /** The carrier vouches that it never took the message. */
  | { kind: 'not_sent' }
  /** The carrier cannot be asked just now; ask again later. */
  | { kind: 'unreachable'; reason: string }
  /** The carrier has no way to tell. */
  | { kind: 'unknown' };

export type Availability = { status: 'available' | 'unavailable' | 'error'; reason?: string };

export interface CallbackHead {
  url: string;
  headers: Record<string, string | undefined>;
}

export interface CallbackRequest extends CallbackHead {
  rawBody: string;
}

export class BadSignature extends Error {}
