import { z } from 'zod';
import { listOf, numeric, readable } from '#domain/base/bounded-schema.ts';
import type { CarrierEvent } from '#domain/lines/carrier-event.ts';
import { mayBeSameNumber, normalizePhone } from '#domain/base/phone.ts';
import { mapInTurns } from '#domain/base/turns.ts';
import { searchListing } from '#domain/sending/carrier-listing.ts';
import type { Exchange } from '../../egress-exchange.ts';
import type { AttemptReference, Carrier, ReconcileOutcome } from '../carrier.ts';
import { readJson } from '../http-response.ts';
import type { TwilioApi, TwilioConfig } from './api.ts';
import { rcsAddress, statusEvents } from './callback.ts';
import { twilioReason as reasonOf } from './errors.ts';

const PAGE = 100;
const MessageList = z.object({ messages: listOf(z.unknown(), PAGE), next_page_uri: z.string().nullish() });
/** What cannot be read of a message may be anything. */
const ListedMessage = z.object({
  sid: z.string(),
  direction: readable(z.string()),
  to: readable(z.string()),
  from: readable(z.string()),
  body: readable(z.string()),
  status: readable(z.string()),
  error_code: readable(numeric),
  date_created: readable(z.string()),
});
type ListedMessage = z.infer<typeof ListedMessage>;

/** How long after its start a request without a response may still reach Twilio or appear in the list. */
const SETTLE_MS = 45_000;
/** For clock differences; Twilio's timestamps are whole seconds. */
const CLOCK_SKEW_MS = 10 * 60_000;
const MAX_PAGES = 20;
/** Twilio puts this before each text of a trial account. */
const TRIAL = /^\s*sent from your twilio trial account\s*-\s*/i;

export function createReconciliation(api: TwilioApi): Pick<Carrier<TwilioConfig>, 'reconcile'> {
  return {
    /** Twilio stores no reference of ours, so the message is found by recipient, time and text. */
    async reconcile(config, attempt) {
      const since = attempt.startedAt.getTime() - CLOCK_SKEW_MS;
      // A message that a messaging service sends by RCS is listed for another address.
      const addresses =
        config.messagingServiceSid === undefined ? [attempt.to] : [attempt.to, rcsAddress(attempt.to)];
      const messages: ListedMessage[] = [];
      let isComplete = true;
      for (const to of addresses) {
        const listed = await messagesTo(api, config, to, since);
        if ('failure' in listed) return { kind: 'unreachable', reason: reasonOf(listed.failure) };
        messages.push(...listed.messages);
        isComplete &&= listed.isComplete;
      }
      const recent = messages.filter((message) => !(createdAt(message) < since));
      return findAttempt(recent, isComplete, { config, attempt, now: api.now() });
    },
  };
}

/** The messages to an address, back to a time. The list starts with the newest. */
async function messagesTo(
  api: TwilioApi,
  config: TwilioConfig,
  to: string,
  since: number,
): Promise<{ messages: ListedMessage[]; isComplete: boolean } | { failure: Exchange }> {
  const messages: ListedMessage[] = [];
  let areAllReadable = true;
  // Not filtered by `DateSent`, which queued messages do not have.
  let next: string | null =
    `/Messages.json?${new URLSearchParams({ To: to, PageSize: String(PAGE) }).toString()}`;
  for (let page = 0; next !== null && page < MAX_PAGES; page += 1) {
    const response: Exchange = await api.call(config, next);
    const list: z.infer<typeof MessageList> | null =
      response.status === 200 ? readJson(response, MessageList) : null;
    if (!list) return { failure: response };
    const read = list.messages.flatMap((raw) => ListedMessage.safeParse(raw).data ?? []);
    messages.push(...read);
    areAllReadable &&= read.length === list.messages.length;
    const isOlder = list.messages.length > 0 && read.every((one) => createdAt(one) < since);
    const following = list.next_page_uri ?? '';
    next =
      following === '' || isOlder
        ? null
        : `/Messages.json${new URL(following, api.addressOf(config)).search}`;
  }
  return { messages, isComplete: areAllReadable && next === null };
}

/** Not a number if the message has no date; then it may be of any time. */
const createdAt = ({ date_created: date }: ListedMessage): number => Date.parse(date ?? '');

/** @param messages those since shortly before the attempt. @param isComplete whether all of them were read. */
async function findAttempt(
  messages: readonly ListedMessage[],
  isComplete: boolean,
  { config, attempt, now }: { config: TwilioConfig; attempt: AttemptReference; now: Date },
): Promise<ReconcileOutcome> {
  const isRecordLost = attempt.startedBy > attempt.startedAt;
  // A messaging service chooses the number.
  const from = config.messagingServiceSid === undefined ? (config.from ?? attempt.from) : null;
  const isFromElsewhere = (message: ListedMessage): boolean =>
    from !== null && typeof message.from === 'string' && !isSameSender(message.from, from);
  const mayBeIt = (message: ListedMessage): boolean =>
    // Messages that the API did not create are answers and calls of a program at Twilio.
    !/^(?:inbound|outbound-(?:call|reply)$)/.test(message.direction ?? '') &&
    (typeof message.to !== 'string' || mayBeSameNumber(message.to, attempt.to)) &&
    // If records are lost, the line of each number is asked.
    (!isRecordLost || !isFromElsewhere(message));
  const candidates = await mapInTurns(messages, (message) =>
    mayBeIt(message)
      ? [
          {
            id: message.sid,
            text: isFromElsewhere(message) ? null : (message.body?.replace(TRIAL, '') ?? ''),
            hasFailed: FAILED.has(message.status ?? ''),
            reports: reportsOf(message, now),
          },
        ]
      : [],
  );
  const listed = candidates.flat();
  const isSettled = now.getTime() - attempt.startedBy.getTime() >= SETTLE_MS;
  const search = (messages: typeof listed) =>
    searchListing(
      { messages, isComplete },
      { text: attempt.text, takenIds: attempt.takenIds, isRecordLost, isSettled },
    );
  // One that failed may be of an earlier attempt, whose id Twilio told together with the failure.
  const alive = await search(listed.filter(({ hasFailed }) => !hasFailed));
  const result = alive.kind === 'found' ? alive : await search(listed);
  if (result.kind !== 'found') return result;
  const { id: carrierMessageId, hasFailed, reports } = result.message;
  if (hasFailed && !isSettled) return { kind: 'unreachable', reason: 'it may still be on its way' };
  return { kind: 'accepted', carrierMessageId, ...(reports.length > 0 && { reports }) };
}

const FAILED = new Set(['failed', 'undelivered', 'canceled']);

/** What callbacks tell about the message, which may have come before anybody knew its id, or not at all. */
const reportsOf = ({ sid, status, error_code: code, from }: ListedMessage, now: Date): CarrierEvent[] =>
  statusEvents(
    {
      MessageSid: sid,
      MessageStatus: status ?? '',
      ...(typeof from === 'string' && { From: from }),
      ...(typeof code === 'number' && { ErrorCode: String(code) }),
    },
    now,
  );

/** Settings may contain a number in another form than Twilio's list. */
const isSameSender = (a: string, b: string): boolean =>
  (normalizePhone(a, 'US') ?? a.toLowerCase()) === (normalizePhone(b, 'US') ?? b.toLowerCase());
