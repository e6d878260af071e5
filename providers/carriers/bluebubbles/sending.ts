import { setTimeout as pause } from 'node:timers/promises';
import { FormData } from 'undici';
import { z } from 'zod';
import { firstOf } from '#domain/base/bounded-schema.ts';
import type { Effect } from '#domain/messages/effect.ts';
import { type Exchange, isTooLarge } from '../../egress-exchange.ts';
import { timeLimit } from '../../time-limit.ts';
import type { Availability, Carrier, FetchMedia, OutboundMessage, SendOutcome } from '../carrier.ts';
import { sentInPart } from '../carrier-failure.ts';
import { failureOfLine, foreignAnswer, readJson, readOk } from '../http-response.ts';
import { fetchAll, type FetchedFile } from '../outbound-media.ts';
import { travelledBy } from '../travelled-by.ts';
import { type BlueBubblesApi, type BlueBubblesConfig, reasonOf } from './api.ts';
import {
  BlueBubblesMessage,
  chatGuid,
  envelope,
  ErrorResponse,
  isGroupGuid,
  isOwnError,
  isPrivateApiMissing,
  NOT_REGISTERED,
} from './protocol.ts';
import { remember } from './remember.ts';

/** A single negative result is wrong too often. */
const NEGATIVE_CHECKS = 3;
/** How long a positive result is cached. */
const REACHABLE_MS = 24 * 3_600_000;

interface SendingOptions {
  fetchMedia: FetchMedia | undefined;
  timeoutMs: number;
  /** The pause between two availability checks of a recipient. */
  recheckMs: number;
  clock: () => Date;
}

/** Sends texts and files, to recipients that are on iMessage. */
export function createSending(
  { call, query }: BlueBubblesApi,
  { fetchMedia, timeoutMs, recheckMs, clock }: SendingOptions,
): Pick<Carrier<BlueBubblesConfig>, 'send' | 'checkAvailability'> {
  /** When an address was last found available, by server and address. */
  const reachable = new Map<string, number>();

  /** A positive result counts at once and is cached, a negative one only if it is repeated. */
  async function checkReach(
    config: BlueBubblesConfig,
    address: string,
  ): Promise<Availability & { answered: boolean }> {
    const key = `${config.url} ${address}`;
    if ((reachable.get(key) ?? 0) > clock().getTime() - REACHABLE_MS)
      return { status: 'available', answered: true };
    for (let checks = 0; checks < NEGATIVE_CHECKS; checks += 1) {
      if (checks > 0) await pause(recheckMs);
      const response = await query(
        config,
        `/handle/availability/imessage?address=${encodeURIComponent(address)}`,
      );
      const found = readOk(response, envelope(z.object({ available: z.boolean() })));
      if (!found) return { status: 'error', reason: reasonOf(response), answered: response.error === null };
      if (!found.data.available) continue;
      remember(reachable, key, clock().getTime());
      return { status: 'available', answered: true };
    }
    return { status: 'unavailable', answered: true };
  }

  async function sendText(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    const { attemptId: tempGuid, text } = message;
    const chat = chatOf(message);
    if (chat === null) return openGroup(config, message, signal);
    const { method } = config;
    const response = await call(config, '/message/text', {
      body: { chatGuid: chat, tempGuid, message: text, method, ...richFields(config, message) },
      signal,
    });
    if (message.group || !isUnknownChat(response)) return sendOutcome(response, BlueBubblesMessage);
    const service = message.channel === 'sms' ? 'SMS' : 'iMessage';
    const { effectId } = richFields(config, message);
    const opening = {
      addresses: [message.to.address],
      message: text,
      method,
      service,
      tempGuid,
      ...(effectId !== undefined && { effectId }),
    };
    const opened = await call(config, '/chat/new', { body: opening, signal });
    return sendOutcome(opened, OpenedChat);
  }

  /** Creates a group with its first message. */
  async function openGroup(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    const { attemptId: tempGuid, text, group } = message;
    const { effectId } = richFields(config, message);
    const opening = {
      addresses: group?.participants ?? [],
      message: text,
      method: config.method,
      service: 'iMessage',
      tempGuid,
      ...(effectId !== undefined && { effectId }),
    };
    const response = await call(config, '/chat/new', { body: opening, signal });
    const outcome = sendOutcome(response, OpenedChat);
    const guid = readOk(response, envelope(OpenedGroup))?.data.guid;
    return outcome.kind === 'accepted' && guid !== undefined ? { ...outcome, groupId: guid } : outcome;
  }

  /**
   * Sends a text and its files as one message, of which nothing can be missing: for the Private API, in conversations that exist.
   * @returns null if they have to be sent one by one.
   */
  async function sendWhole(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    files: readonly FetchedFile[],
    signal: AbortSignal,
  ): Promise<SendOutcome | null> {
    const { channel, text, attemptId: tempGuid } = message;
    const isWhole = config.method === 'private-api' && channel === 'imessage';
    const chat = chatOf(message);
    if (!isWhole || chat === null || files.length === 0 || files.some(({ voiceNote }) => voiceNote))
      return null;
    const parts: object[] = [{ partIndex: 0, text }];
    for (const [index, file] of files.entries()) {
      const form = new FormData();
      form.set('attachment', fileOf(file));
      const uploaded = await call(config, '/attachment/upload', { body: form, signal });
      const path = readOk(uploaded, envelope(z.object({ path: z.string() })))?.data.path;
      // Nothing has been sent. Without such a file, the text would leave alone.
      if (isTooLarge(uploaded)) return sendOutcome(uploaded, BlueBubblesMessage);
      // An older server, perhaps.
      if (path === undefined) return null;
      parts.push({ partIndex: index + 1, attachment: path, name: file.name });
    }
    const response = await call(config, '/message/multipart', {
      body: { chatGuid: chat, tempGuid, parts, ...richFields(config, message) },
      signal,
    });
    return isUnknownChat(response) ? null : sendOutcome(response, BlueBubblesMessage);
  }

  /** Files are sent one by one, until the first failure. */
  async function sendFiles(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    files: readonly FetchedFile[],
    signal: AbortSignal,
  ): Promise<SendOutcome[]> {
    const outcomes: SendOutcome[] = [];
    for (const [index, file] of files.entries()) {
      const outcome = await sendFile(config, message, { ...file, index }, signal);
      outcomes.push(outcome);
      if (outcome.kind !== 'accepted') break;
    }
    return outcomes;
  }

  async function sendFile(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    file: FetchedFile & { index: number },
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    const chat = chatOf(message);
    if (chat === null) return { kind: 'refused', reason: 'a group begins with a text' };
    const form = new FormData();
    form.set('chatGuid', chat);
    form.set('tempGuid', `${message.attemptId}-${file.index}`);
    form.set('name', file.name);
    form.set('method', config.method);
    if (file.voiceNote) form.set('isAudioMessage', 'true');
    // Of several parts, the text has them.
    if (message.text === '' && file.index === 0)
      for (const [name, value] of Object.entries(richFields(config, message))) form.set(name, value);
    form.set('attachment', fileOf(file));
    const send = (): Promise<Exchange> => call(config, '/message/attachment', { body: form, signal });
    const response = await send();
    if (!isUnknownChat(response) || config.method === 'apple-script')
      return sendOutcome(response, BlueBubblesMessage);
    // The Private API opens conversations only with a text, AppleScript also with a file.
    form.set('method', 'apple-script');
    // With them, the server would take the Private API again.
    for (const name of Object.keys(richFields(config, message))) form.delete(name);
    return sendOutcome(await send(), BlueBubblesMessage);
  }

  /**
   * For an address without iMessage, the server responds 200 and never sends the message.
   * @returns why the message must not be sent; null: it may be.
   */
  async function checkRecipient(
    config: BlueBubblesConfig,
    { channel, to, group }: OutboundMessage,
  ): Promise<SendOutcome | null> {
    if (channel !== 'imessage') return null;
    const isOpen = group !== undefined && group.id !== null;
    for (const address of isOpen ? [] : (group?.participants ?? [to.address])) {
      const { status, answered, reason = 'no response' } = await checkReach(config, address);
      if (status === 'unavailable')
        return {
          kind: 'unavailable',
          reason: group ? 'a participant is not on iMessage' : 'not on iMessage',
        };
      // An error response may only mean that the server cannot check, because it has no Private API.
      if (!answered) return { kind: 'transient', reason };
    }
    return null;
  }

  async function sendParts(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    files: readonly FetchedFile[],
    signal: AbortSignal,
  ): Promise<SendOutcome[]> {
    if (message.text === '') return sendFiles(config, message, files, signal);
    const whole = await sendWhole(config, message, files, signal);
    if (whole) return [whole];
    const text = await sendText(config, message, signal);
    if (text.kind !== 'accepted') return [text];
    const { group } = message;
    const opened = group ? { ...message, group: { ...group, id: text.groupId ?? group.id } } : message;
    return [text, ...(await sendFiles(config, opened, files, signal))];
  }

  return {
    async checkAvailability(config, address) {
      const { answered: _, ...found } = await checkReach(config, address);
      return found;
    },

    async send(config, message, signal) {
      const limit = timeLimit(timeoutMs, signal);
      const failure = signal.aborted ? null : await checkRecipient(config, message);
      if (failure) return failure;
      const files = await fetchAll(message.attachments, fetchMedia, limit);
      if ('kind' in files) return files;
      return outcomeOfParts(await sendParts(config, message, files.contents, limit));
    },
  };
}

const fileOf = ({ content, name, contentType }: FetchedFile): File =>
  new File([new Uint8Array(content)], name, { type: contentType ?? 'application/octet-stream' });

/** Apple's ids of its effects. */
const EFFECT_IDS: Record<Effect, string> = {
  slam: 'com.apple.MobileSMS.expressivesend.impact',
  loud: 'com.apple.MobileSMS.expressivesend.loud',
  gentle: 'com.apple.MobileSMS.expressivesend.gentle',
  invisible_ink: 'com.apple.MobileSMS.expressivesend.invisibleink',
  echo: 'com.apple.messages.effect.CKEchoEffect',
  spotlight: 'com.apple.messages.effect.CKSpotlightEffect',
  balloons: 'com.apple.messages.effect.CKHappyBirthdayEffect',
  confetti: 'com.apple.messages.effect.CKConfettiEffect',
  love: 'com.apple.messages.effect.CKHeartEffect',
  lasers: 'com.apple.messages.effect.CKLasersEffect',
  fireworks: 'com.apple.messages.effect.CKFireworksEffect',
  shooting_star: 'com.apple.messages.effect.CKShootingStarEffect',
  celebration: 'com.apple.messages.effect.CKSparklesEffect',
};

/** Fields that the server passes to the Private API, whatever the method: without it, they would fail the message. */
const richFields = (
  { method }: BlueBubblesConfig,
  { channel, replyTo, effect }: OutboundMessage,
): { selectedMessageGuid?: string; effectId?: string } =>
  method !== 'private-api' || channel !== 'imessage'
    ? {}
    : {
        ...(replyTo !== undefined && { selectedMessageGuid: replyTo }),
        ...(effect !== undefined && { effectId: EFFECT_IDS[effect] }),
      };

/** For the server, the text and each file are separate messages; our message has one outcome. */
function outcomeOfParts(parts: readonly SendOutcome[]): SendOutcome {
  const [first] = parts;
  if (!first) return { kind: 'refused', reason: 'there is nothing to send' };
  const failed = parts.find(({ kind }) => kind !== 'accepted');
  if (!failed || failed === first || first.kind !== 'accepted') return first;
  const reason = 'reason' in failed ? failed.reason : 'unknown error';
  // The list shows whether it was sent.
  if (failed.kind === 'unknown') return failed;
  return sentInPart(reason, first.carrierMessageId);
}

/** The GUID of the conversation of a message; null: of a group that is to be created. */
const chatOf = ({ channel, to, group }: OutboundMessage): string | null =>
  group ? group.id : chatGuid(channel, to.address);

const OpenedGroup = z.object({ guid: z.string().refine(isGroupGuid) });

/** The response to creating a chat contains its first message. */
const OpenedChat = z
  .object({ messages: firstOf(BlueBubblesMessage, 1) })
  .transform(({ messages }, context) => {
    const [message] = messages;
    if (message) return message;
    context.addIssue('no message');
    return z.NEVER;
  });

function sendOutcome(response: Exchange, schema: z.ZodType<BlueBubblesMessage>): SendOutcome {
  const reason = reasonOf(response);
  if (!response.connected) return { kind: 'transient', reason };
  if (response.error !== null || response.status === null) return { kind: 'unknown', reason };
  const { status } = response;
  if (status >= 200 && status < 300) {
    const message = readOk(response, envelope(schema))?.data;
    if (!message) return foreignAnswer(reason);
    if (message.error) return failedWith(message.error);
    return { kind: 'accepted', carrierMessageId: message.guid, ...travelledBy(message.handle?.service) };
  }
  const failed = readJson(response, ErrorResponse);
  if (failed?.data?.error) return failedWith(failed.data.error);
  // A message with this reference is already being sent.
  if (/already queued/i.test(failed?.error?.message ?? failed?.message ?? ''))
    return { kind: 'unknown', reason };
  if (isOwnError(failed) && isPrivateApiMissing(reason)) return { kind: 'transient', reason, ofLine: true };
  return failureOfLine(response, isOwnError(failed), reason) ?? { kind: 'refused', reason };
}

/** Only "not registered" is reliable; other errors are also reported for messages that were sent. */
const failedWith = (code: number): SendOutcome =>
  code === NOT_REGISTERED
    ? { kind: 'unavailable', reason: 'not on iMessage' }
    : { kind: 'unknown', reason: `iMessage error ${code}` };

const isUnknownChat = (response: Exchange): boolean =>
  response.error === null &&
  response.status !== null &&
  response.status >= 400 &&
  /chat.*(does not exist|not found)/i.test(readJson(response, ErrorResponse)?.error?.message ?? '');
