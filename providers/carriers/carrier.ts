import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { CarrierEvent, CarrierReport } from '#domain/lines/carrier-event.ts';
import type { Channel } from '#domain/base/channel.ts';
import type { Capability } from '#domain/lines/capability.ts';
import type { EmailSender } from '#domain/lines/email-authentication.ts';
import type { Effect } from '#domain/messages/effect.ts';
import type { ActionOutcome, MessageAction } from '#domain/messages/message-action.ts';
import type { SendOutcome } from '#domain/messages/send-outcome.ts';

export type { CarrierEvent, CarrierReport } from '#domain/lines/carrier-event.ts';
export type { SendOutcome } from '#domain/messages/send-outcome.ts';

/**
 * The interface of a carrier adapter. An adapter implements one provider's protocol and has no knowledge of tenants or
 * pacing.
 */
export interface Carrier<Config = unknown> {
  /** Used in `lines.carrier`, in the callback URL and in the name of the task queue. */
  readonly name: string;
  readonly channels: readonly Channel[];
  /**
   * What its lines of a channel can do besides sending text.
   * @param stored the settings of the line, with encrypted secrets.
   */
  capabilities(channel: Channel, stored: Record<string, unknown>): readonly Capability[];
  /** A line's settings. Fields marked `.meta({ secret: true })` are stored encrypted and never shown. */
  readonly config: z.ZodType<Config>;
  /** The timeout of a send, in milliseconds, after which its outcome is unknown. */
  readonly timeoutMs: number;
  /** The setting that is sent as `secret` in the callback URL, for providers that do not sign callbacks. */
  readonly callbackSecret?: string;
  /**
   * The servers in the settings, by setting. Tenants set them, so they are checked before they are stored, and
   * connections to them must use the guard.
   */
  servers?(config: Config): Record<string, CarrierServer>;

  /** The server that sends the emails, and the selector of its DKIM key, for email carriers. */
  emailServer?(config: Config): Pick<EmailSender, 'host' | 'dkimSelector'>;

  /** Provisions new lines; absent if lines are set up by hand. */
  readonly provisioning?: LineProvisioning<Config>;
  /**
   * Registers the callback URL of a line at the carrier. Idempotent. Absent if it is registered by hand.
   */
  configureInbound?(config: Config, lineId: string, callbackUrl: string): Promise<void>;

  /** Sends one message. Never throws. */
  send(config: Config, message: OutboundMessage, signal: AbortSignal): Promise<SendOutcome>;
  /**
   * Does something to a message, or in the conversation with the contact: for carriers with the capability that the action needs. Never
   * throws.
   */
  act?(config: Config, action: OutboundAction, signal: AbortSignal): Promise<ActionOutcome>;
  /**
   * Whether an action whose response was lost has had its effect; `unknown`: the carrier cannot tell, or does not show it (yet). Never throws.
   * Absent: nobody can tell.
   */
  findAction?(
    config: Config,
    action: OutboundAction & { startedAt: Date },
    signal: AbortSignal,
  ): Promise<'done' | 'unknown'>;
  /** Whether reactions can be any emoji, and not only the six of Apple's Messages. */
  readonly reactsWithEmoji?: true;
  /** Determines the outcome of an attempt whose response was lost. */
  reconcile(config: Config, attempt: AttemptReference): Promise<ReconcileOutcome>;
  checkAvailability(config: Config, address: string): Promise<Availability>;
  /**
   * Checks that the line can send. Throws with the reason if it cannot.
   * @param address the line's number or email address; null: only the settings name it. Default: the account is checked, but not
   * whether the address can send, because the line is new and its number may still be ported.
   */
  probe(config: Config, lineId: string, address?: string | null): Promise<void>;
  /** What a probe checks, if several lines share it: one probe then counts for all of them. */
  account?(config: Config, address: string | null): string;
  /**
   * Checks one setting after the other, without changing anything at the provider, and ends with the first that makes the
   * others pointless. Never throws; a check that the provider cannot answer is `unknown`.
   */
  checkConnection(config: Config, subject: ConnectionSubject): AsyncIterable<ConnectionCheck>;
  /** The steps of a person at the provider to connect a line. */
  readonly guide?: ConnectionGuide;
  /**
   * Checks the URL and headers of a callback before its body is read.
   * Throws `BadSignature`.
   */
  checkCallback?(config: Config, head: CallbackHead): void;
  /**
   * Verifies that a callback is from this carrier and about the line in its URL, and parses its events, with absolute
   * URLs of attachments. Throws `BadSignature`; `ZodError` or `Unreadable` if the body is malformed.
   * @param tenant the workspace, for fair scheduling of parsing.
   */
  parseCallback(config: Config, request: CallbackRequest, tenant: string): Promise<CarrierReport[]>;
  /**
   * Reads new messages after `position`, for providers that are polled. Null for the position returns only the current
   * end. Returns null if the settings name no inbox.
   * @param tenant the workspace, for fair scheduling of parsing.
   */
  readInbox?(config: Config, position: string | null, tenant: string): Promise<InboxBatch | null>;
  /**
   * The settings after a callback that announces another address of the provider's server; null: it announces none. The
   * caller checks that the same server answers there.
   */
  movedTo?(config: Config, request: CallbackRequest): Config | null;
  /** The response to callbacks, if the provider does not accept JSON. */
  readonly callbackAnswer?: { contentType: string; body: string };
  /** The maximum size of a callback in bytes, if it contains files. */
  readonly callbackLimit?: number;
  /**
   * Downloads a file of a callback. Throws if the URL is not this carrier's or the file is not available.
   * @param from the byte to start at, if the provider can; `from` of the result says where it starts.
   */
  openMedia(config: Config, url: string, signal: AbortSignal, from?: number): Promise<CarrierMedia>;
  /** Closes idle connections. */
  close(): Promise<void>;
}

/** Whether something works, in a sentence for the person who entered the settings. */
export interface Finding {
  result: 'pass' | 'fail' | 'unknown';
  text: string;
}

export interface ConnectionCheck extends Finding {
  /** What was checked: `server`, `credentials`, `sender`, … */
  name: string;
  /** The setting that is to be changed, if it is known: `password`, or `address` for the line's. */
  setting?: string;
}

/** The line for which settings are checked. */
export interface ConnectionSubject {
  lineId: string | null;
  /** The line's address, if it is known. */
  address: string | null;
  /** The callback URL, without a secret. Null: the line does not exist yet. */
  callbackUrl: string | null;
  /** Whether reports of a provider can arrive at this installation. */
  reachCallbacks(): Promise<Finding>;
}

export interface ConnectionGuide {
  /** The provider's own name. */
  title: string;
  /** What it is for, in one sentence. */
  summary: string;
  /** What is done before the settings can be entered, one sentence a step. */
  before: readonly string[];
  /** Once the line is connected, with its callback URL at hand. */
  after: readonly string[];
  /** Recipients that answer automatically, for a first message. */
  answering?: { phone: string; email: string };
}

/**
 * Whether lines of a carrier use the operator's own account: it provisions them. Workspaces know none of its secrets.
 * Settings of other carriers were entered by a workspace, which controls what they report.
 */
export const usesOperatorAccount = ({ provisioning }: Pick<Carrier, 'provisioning'>): boolean =>
  provisioning !== undefined;

/** A server that uses HTTP or another protocol, and its allowed ports; others could be scanned through us. */
export type CarrierServer = { ports: readonly number[] } & ({ url: string } | { host: string; port: number });
export const HTTP_PORTS = [80, 443] as const;

export interface LineProvisioning<Config = unknown> {
  /** Whether it also provides lines of the customer's own, because nothing of it is real. */
  readonly includesOwnLines?: true;
  /**
   * Allocates the line's address. Idempotent per line. Throws `LineRefused` if no such line will be available, anything
   * else if it may be later.
   * @param choice for carriers that charge the operator for an address, and know no idempotency keys.
   */
  allocate(line: NewLine, choice: NumberChoice): Promise<{ address: string; config: Config }>;
  /**
   * Gives a number back that was chosen for a line, if it was bought. Idempotent. Throws until that is certain. Absent if addresses
   * cost nothing.
   */
  release?(number: ChosenNumber & { lineId: string }): Promise<void>;
}

export interface ChosenNumber {
  number: string;
  /** When it was chosen; it was bought later, if at all. */
  at: Date;
}

/** The number that is bought for a line. It is recorded before, so that a purchase whose response was lost is found again. */
export interface NumberChoice {
  chosen: ChosenNumber | null;
  choose(number: ChosenNumber): Promise<void>;
  /** Forgets a number that was certainly not bought. */
  forget(number: string): Promise<void>;
}

export interface InboxBatch {
  /** In order of arrival, each with the position after it. */
  read: InboxItem[];
  more: boolean;
  /** Called once all of them are stored: without it, they are read again. */
  stored?(): void;
}

export interface InboxItem {
  events: CarrierEvent[];
  position: string;
  /** The message is skipped because it cannot be parsed: its id in the inbox, and the reason. */
  unreadable?: { reference: string; reason: string };
}

export interface NewLine {
  lineId: string;
  channel: Channel;
  firstName: string;
  lastName: string;
  /** The requested address of an email line. */
  email: string | null;
  areaCode: string | null;
  /** ISO 3166-1 alpha-2. */
  country: string;
  /** Where replies and receipts are to be reported. */
  callbackUrl: string;
}

/** The carrier rejects the line permanently. The message is the reason. */
export class LineRefused extends Error {
  override readonly name = 'LineRefused';
}

/** A group conversation of a line. For carriers with `groups`. */
export interface CarrierGroup {
  /** The carrier's id of it; null: it is to be created with this message. */
  id: string | null;
  /** The addresses of the others, as far as they are known. */
  participants: readonly string[];
}

export interface OutboundMessage {
  /** Unique per attempt. Sent to the carrier as the reference for deduplication and `reconcile`. */
  attemptId: string;
  /** The same for all attempts of a message, for searching the carrier's logs. */
  messageId: string;
  lineId: string;
  channel: Channel;
  /** The line's phone number in E.164 or email address. */
  from: { address: string; name: string };
  to: { address: string; name: string | null };
  /** It goes to this group, instead of `to`, which names the group as the product does. */
  group?: CarrierGroup;
  /** Email only. Default: the first line of the text. */
  subject?: string;
  /** Email only: the Message-IDs of what it answers or continues, oldest first. */
  thread?: { inReplyTo: string; references: string[] };
  text: string;
  attachments: OutboundAttachment[];
  /** The carrier's id of the message that it answers, which the same line has exchanged. For carriers with `replies`. */
  replyTo?: string;
  /** For carriers with `effects`. */
  effect?: Effect;
  /** For receipts and replies: `https://…/callbacks/carriers/simulated/{lineId}`. */
  callbackUrl: string;
  /** Email only: the one-click unsubscribe URL (RFC 8058). */
  unsubscribeUrl?: string;
}

export interface OutboundAction {
  /** Unique, for carriers that recognize repeated requests. */
  id: string;
  lineId: string;
  channel: Channel;
  /** The contact. */
  to: string;
  /** The group of the message, instead of `to`. */
  group?: CarrierGroup;
  /** The carrier's id of the message; null: it has not been sent yet, and the action is about the conversation. */
  carrierMessageId: string | null;
  action: MessageAction;
}

export interface OutboundAttachment {
  name: string;
  url: string;
  contentType: string | null;
  voiceNote: boolean;
}

/** Reads an outbound attachment, for carriers that take its content instead of a URL. Throws if it is not available. */
export type FetchMedia = (
  url: string,
  signal: AbortSignal,
) => Promise<{ content: Buffer; contentType: string | null }>;

export interface CarrierMedia {
  contentType: string | null;
  /** The first byte of `body`. Default: 0. */
  from?: number;
  /** In bytes, if known in advance. */
  size?: number;
  body: Readable;
}

export interface AttemptReference {
  attemptId: string;
  lineId: string;
  channel: Channel;
  /** The number or address of the account; null: only its settings name it. */
  from: string | null;
  to: string;
  /** It went to this group, instead of `to`. */
  group?: CarrierGroup;
  startedAt: Date;
  /** The latest time at which it may have started; `startedAt`, unless its record is lost. */
  startedBy: Date;
  /** The text that was sent, for carriers without references; null if it is no longer known. */
  text: string | null;
  attachmentCount: number;
  /** The carrier's ids of other attempts to this recipient, which must not be matched. */
  takenIds: readonly string[];
}

export type ReconcileOutcome =
  /** `reports`: what the carrier says has become of the message since, with the ids of the same events in callbacks. */
  | { kind: 'accepted'; carrierMessageId: string; groupId?: string; reports?: readonly CarrierEvent[] }
  /** The carrier certainly did not accept the message. */
  | { kind: 'not_sent' }
  /** The outcome cannot be determined yet; to be retried. */
  | { kind: 'unreachable'; reason: string }
  /** The carrier cannot determine the outcome. */
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

/** What an inbox contains could not be read, although the inbox works. The cause is the reason. */
export class NotOfInbox extends Error {}
