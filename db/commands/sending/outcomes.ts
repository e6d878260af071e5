import { FAILURES_TO_SET_ASIDE } from '#domain/base/set-aside.ts';
import { isLinked } from '#domain/lines/first-touch.ts';
import { SILENT_FROM } from '#domain/lines/line-signals.ts';
import { failureSignals } from '#domain/lines/signal-replay.ts';
import { credentialsRefusal, type SendOutcome } from '#domain/messages/send-outcome.ts';
import { literalTemplate } from '#domain/messages/template.ts';
import { FAILED_ROUNDS_TO_OPEN, REFUSALS_TO_OPEN } from '#domain/sending/circuit.ts';
import {
  type AttemptRow,
  finishAttempt,
  firstAttemptAt,
  markOfLine,
  takeBack,
} from '#db/queries/sending/attempts.ts';
import {
  callHistories,
  fallbackFailures,
  type RefusedAlone,
  refusedAlone,
  refusedInARow,
} from '#db/queries/sending/call-history.ts';
import { continueSequence, followCampaign } from '#db/commands/campaigns/campaign-steps.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { isOfDeleted, shownAddress } from '#db/queries/contacts/erasures.ts';
import { releaseBubbles } from '../messages/bubbles.ts';
import { settleOwnChanges } from '../messages/message-actions.ts';
import { emitCanceled, failFallbackSms } from '../messages/message-events.ts';
import { rewriteMessage } from '../messages/own-changes.ts';
import { lockLine } from '#db/queries/lines/lines.ts';
import { lockContact, lockSequences } from '#db/queries/sending/message-locks.ts';
import { findMessage, type MessageRow } from '#db/queries/messages/messages.ts';
import { hasWrittenSince } from '#db/queries/inbox/replies.ts';
import { byContact, optOut } from '../contacts/opt-outs.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import {
  advanceMessage,
  endFallbackSms,
  recordReached,
  retryFallbackSms,
  revertOutbound,
} from '#db/queries/sending/sends.ts';
import { fail, failOrFallBack, fallBackUnavailable } from './failures.ts';

/**
 * The outcome of an attempt, after reconciliation if necessary. `unsendable`: the message has no text that any
 * channel could take, and the carrier was not called.
 */
export type Settled = SendOutcome | { kind: 'not_sent' | 'unsendable'; reason: string };

/** The outcomes that `settleAccepted` does not settle. */
type NotAccepted = Exclude<Settled, { kind: 'accepted' }>;

/** A message fails after this many attempts that were certainly not sent. */
const MAX_TRANSIENT_FAILURES = 8;
const FIRST_RETRY_MS = 5000;
const MAX_RETRY_MS = 5 * 60_000;
const OUTAGE_TOLERANCE_MS = 24 * 3_600_000;

/**
 * Writes the outcome of an attempt that its carrier has not accepted, the status of its message and the event of that
 * status in one commit. Does nothing if the attempt was settled before or the message has moved on.
 */
export async function settlePrimary(
  db: TenantDb,
  attempt: AttemptRow,
  outcome: NotAccepted,
  now: Date,
): Promise<void> {
  // Before the rows of messages: the refusals of a line are counted one after the other.
  if (isAboutRecipient(outcome)) await lockLine(db, attempt.lineId);
  if (!(await recordOutcome(db, attempt, outcome, now))) return;
  const refusal = await aboutTheLine(db, attempt, outcome, now);
  const found = await findMessage(db, attempt.messageId);
  if (outcome.kind !== 'unknown') await uncountSend(db, attempt, found);
  if (outcome.kind === 'refused' && refusal !== 'kept') countRefusal(db, attempt, outcome, now);
  if (!found) return;
  if (isOptOut(outcome)) {
    await lockContact(db, found.address, [found.id]);
    await carrierOptOut(db, found, now);
  } else await lockSequences(db, [found.id]);
  const message = await findMessage(db, found.id);
  // An earlier attempt may turn out to have been accepted.
  if (message?.status !== 'sending') return;
  switch (outcome.kind) {
    case 'unavailable':
      return fallBackUnavailable(db, message, outcome.reason, now);
    case 'refused':
      if (refusal === 'kept') return keepPlace(db, message, outcome, now);
      return settleRefused(db, message, outcome, now);
    case 'unsendable':
      return fail(db, message, outcome.reason, now);
    case 'unknown':
      return fail(db, message, 'outcome_unknown', now);
    case 'transient':
      if (outcome.ofLine) return keepPlace(db, message, outcome, now);
      return retryLater(db, message, outcome, now);
    case 'not_sent':
      return retryLater(db, message, outcome, now);
  }
}

/** The carrier took nothing of the message because of its recipient, or so it says. */
const isAboutRecipient = (outcome: NotAccepted): boolean =>
  outcome.kind === 'unavailable' || (outcome.kind === 'refused' && outcome.sentPart === undefined);

/**
 * After five recipients in a row, a refusal is about the line rather than about its recipient: its carrier is called as after a failure
 * of the line, and no further message fails. Until it accepts one, neither does an opt-out or a recipient whom the channel cannot reach show
 * that it takes messages again. Requires the line's lock.
 * @returns `kept` if the message keeps its place.
 */
async function aboutTheLine(
  db: TenantDb,
  { id, lineId }: AttemptRow,
  outcome: NotAccepted,
  now: Date,
): Promise<'kept' | 'counted' | null> {
  if (!isAboutRecipient(outcome)) return null;
  const refused = await refusedInARow(db, lineId, new Date(now.getTime() - OUTAGE_TOLERANCE_MS));
  if (refused < REFUSALS_TO_OPEN) return null;
  await markOfLine(db, id);
  return refused > REFUSALS_TO_OPEN && !isOptOut(outcome) ? 'kept' : 'counted';
}

/**
 * Returns a message to the queue that another of the line would not replace. It waits as long as the line is blocked, and keeps its
 * place, unless only its recipient was refused, or it alone is not taken: then another one is tried next.
 */
async function keepPlace(
  db: TenantDb,
  message: MessageRow,
  outcome: Extract<NotAccepted, { kind: 'transient' | 'refused' }>,
  now: Date,
): Promise<void> {
  const end = await endOfReturned(db, message);
  if (end) return cancelReturned(db, message, end, now);
  const isRefused = outcome.kind === 'refused';
  const credentials = credentialsRefusal(outcome.reason) !== null;
  const alone = isRefused ? null : await refusedAlone(db, message);
  const isSetAside = alone !== null && isToBeSetAside(alone, now);
  const goesLater = isRefused || credentials || (alone !== null && alone.count > 0);
  await advanceMessage(db, message.id, ['sending'], {
    to: 'scheduled',
    ...(goesLater && { scheduledAt: retryAt(outcome, message.transientFailures, now) }),
    holdReason: isSetAside ? 'set_aside' : credentials ? 'credentials_refused' : 'carrier_pause',
    ...(isSetAside && { held: true }),
    countTransientFailure: true,
  });
}

/** The line sends, only not this message, however often it is tried. */
const isToBeSetAside = ({ count, firstAt }: RefusedAlone, now: Date): boolean =>
  count >= FAILURES_TO_SET_ASIDE ||
  (firstAt !== null && now.getTime() - firstAt.getTime() > OUTAGE_TOLERANCE_MS);

/** Subtracts a send that did not happen from the counts of its claim. */
async function uncountSend(db: TenantDb, attempt: AttemptRow, message: MessageRow | null): Promise<void> {
  const unanswered = await revertOutbound(db, attempt);
  const { isNew, lineId, startedAt } = attempt;
  db.lineSignals.add(lineId, startedAt, {
    sent: -1,
    ...(isNew && { opened: -1, ...(message && isLinked(message) && { linked: -1 }) }),
    ...(unanswered === 0 && { approached: -1 }),
    ...(unanswered === SILENT_FROM - 1 && { silent: -1 }),
  });
}

function countRefusal(
  db: TenantDb,
  { lineId, channel }: AttemptRow,
  { reason, optedOut }: Extract<Settled, { kind: 'refused' }>,
  now: Date,
): void {
  if (optedOut) db.lineSignals.add(lineId, now, { optouts: 1 });
  else db.lineSignals.add(lineId, now, failureSignals(channel, reason, 'failed'));
}

/** @returns false if the attempt was settled before. */
async function recordOutcome(
  db: TenantDb,
  attempt: AttemptRow,
  outcome: Settled,
  now: Date,
): Promise<boolean> {
  const carrierMessageId =
    outcome.kind === 'accepted'
      ? outcome.carrierMessageId
      : outcome.kind === 'refused'
        ? outcome.sentPart
        : undefined;
  const reason = 'reason' in outcome ? outcome.reason : undefined;
  return finishAttempt(db, attempt.id, {
    outcome: outcome.kind,
    reason,
    about: aboutOf(outcome),
    carrierMessageId,
    now,
  });
}

const isOptOut = (outcome: Settled): boolean => outcome.kind === 'refused' && outcome.optedOut === true;

function aboutOf(outcome: Settled): 'line' | 'recipient' | undefined {
  if (outcome.kind === 'transient' && outcome.ofLine) return 'line';
  return isOptOut(outcome) ? 'recipient' : undefined;
}

async function settleRefused(
  db: TenantDb,
  message: MessageRow,
  outcome: Extract<Settled, { kind: 'refused' }>,
  now: Date,
): Promise<void> {
  if (isOptOut(outcome)) return fail(db, message, 'recipient_opted_out', now);
  // An SMS would repeat its text.
  if (outcome.sentPart !== undefined) return fail(db, message, outcome.reason, now);
  await failOrFallBack(db, message, outcome.reason, now);
}

/** Records an opt-out that the carrier reported about a message. */
export async function carrierOptOut(
  db: TenantDb,
  about: { address: string; id: string },
  now: Date,
  source: 'carrier' | 'complaint' = 'carrier',
): Promise<void> {
  const address = await shownAddress(db, about);
  await optOut(db, address, { source, at: now, now, author: byContact(about.id) });
}

async function retryLater(db: TenantDb, message: MessageRow, outcome: Settled, now: Date): Promise<void> {
  const end = await endOfReturned(db, message);
  if (end) return cancelReturned(db, message, end, now);
  const reason = 'reason' in outcome ? outcome.reason : 'not sent';
  if (message.transientFailures + 1 >= MAX_TRANSIENT_FAILURES && !(await isCarrierOutage(db, message, now))) {
    await failOrFallBack(db, message, reason, now);
    return;
  }
  await advanceMessage(db, message.id, ['sending'], {
    to: 'scheduled',
    scheduledAt: retryAt(outcome, message.transientFailures, now),
    holdReason: credentialsRefusal(reason) === null ? 'carrier_retry' : 'credentials_refused',
    countTransientFailure: true,
  });
}

/** @param failures earlier attempts that were certainly not sent. */
function retryAt(outcome: Settled, failures: number, now: Date): Date {
  const backoff = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
  const wanted = outcome.kind === 'transient' ? (outcome.retryAfterMs ?? 0) : 0;
  return new Date(now.getTime() + Math.max(backoff, wanted));
}

type EndOfReturned = 'lead_deleted' | 'reply';

/** Why a message is canceled instead of being sent again; null: it is sent again. */
async function endOfReturned(db: TenantDb, message: MessageRow): Promise<EndOfReturned | null> {
  if (await isOfDeleted(db, message)) return 'lead_deleted';
  const { cancelIfReply, address, createdAt } = message;
  return cancelIfReply && (await hasWrittenSince(db, address, createdAt)) ? 'reply' : null;
}

/** Cancels a message that returned to the queue. */
async function cancelReturned(
  db: TenantDb,
  { id }: MessageRow,
  holdReason: EndOfReturned | null,
  now: Date,
): Promise<void> {
  await advanceMessage(db, id, ['sending'], { to: 'scheduled', scheduledAt: now });
  const canceled = await advanceMessage(db, id, ['scheduled'], {
    to: 'canceled',
    ...(holdReason !== null && { holdReason }),
  });
  if (canceled && !isErased(canceled.address)) await emitCanceled(db, [canceled], now);
}

/** While the line's carrier accepts nothing at all, messages are retried for a day before they fail. */
async function isCarrierOutage(db: TenantDb, message: MessageRow, now: Date): Promise<boolean> {
  if (message.lineId === null) return false;
  const yesterday = new Date(now.getTime() - OUTAGE_TOLERANCE_MS);
  const calls = await callHistories(db, [message.lineId], { since: yesterday, now });
  const failedRounds = calls.get(message.lineId)?.failedRounds ?? 0;
  return failedRounds >= FAILED_ROUNDS_TO_OPEN && (await firstAttemptAt(db, message.id)) > yesterday;
}

/**
 * Returns a message to the queue whose carrier reports later that it did not send it, because of the line, unless it is not to be sent
 * any more. It goes with the text that it got since, and not if it was taken back. Those that are due go first, because another
 * recipient may show that the line sends. Requires `lockSequences`.
 */
export async function sendAgain(
  db: TenantDb,
  message: MessageRow,
  { attemptId, reason }: { attemptId: string; reason: string },
  now: Date,
): Promise<void> {
  const attempt = await takeBack(db, attemptId, reason, now);
  if (!attempt) return;
  await settleOwnChanges(db, message.id);
  const { sentText, editedAt, unsentAt } = (await findMessage(db, message.id)) ?? message;
  const edited = editedAt === null ? null : sentText;
  await uncountSend(db, attempt, message);
  await advanceMessage(db, message.id, ['sent'], {
    to: 'scheduled',
    scheduledAt: now,
    sentAt: null,
    carrierMessageId: null,
    holdReason: 'carrier_pause',
    countTransientFailure: true,
    ...(edited !== null && { sentText: null }),
  });
  if (unsentAt !== null) return cancelReturned(db, message, null, now);
  if (edited !== null) await rewriteMessage(db, message.id, literalTemplate(edited));
  const end = await endOfReturned(db, message);
  if (end) return cancelReturned(db, message, end, now);
  await continueSequence(db, message, now);
  await followCampaign(db, message.id, now);
}

/**
 * Records the outcome of a fallback SMS. The message's status stays `fallback`. An SMS whose attempt was given up is not sent again if
 * it turns out to have been accepted.
 */
export async function settleFallback(
  db: TenantDb,
  attempt: AttemptRow,
  outcome: Settled,
  text: string | null,
  now: Date,
): Promise<void> {
  const isAccepted = outcome.kind === 'accepted';
  if (!(await recordOutcome(db, attempt, outcome, now)) && !isAccepted) return;
  const { address, messageId } = attempt;
  if (isAccepted) await recordReached(db, attempt);
  if (isOptOut(outcome)) await lockContact(db, address, [messageId]);
  else await lockSequences(db, [messageId]);
  const message = await findMessage(db, messageId);
  if (isAccepted) {
    await endFallbackSms(db, messageId, 'dispatched', text);
    if (message) await releaseBubbles(db, [message], now, { bySms: true });
    return;
  }
  const isRetried = outcome.kind === 'transient' || outcome.kind === 'not_sent';
  if (isRetried && message && !(await isOfDeleted(db, message)))
    return retryFallbackLater(db, message, outcome, now);
  if (message) await failFallbackSms(db, message, now);
  if (!isOptOut(outcome)) return;
  const shown = message && isErased(message.address) ? message.address : address;
  await carrierOptOut(db, { address: shown, id: messageId }, now);
}

/** If the SMS account accepts nothing at all, fallback SMS are retried for a day before they fail. */
async function retryFallbackLater(
  db: TenantDb,
  message: MessageRow,
  outcome: Settled,
  now: Date,
): Promise<void> {
  const { count, firstAt, acceptsOthers } = await fallbackFailures(db, message.id);
  const isOutage = !acceptsOthers && now.getTime() - firstAt.getTime() < OUTAGE_TOLERANCE_MS;
  if (count >= MAX_TRANSIENT_FAILURES && !isOutage) return failFallbackSms(db, message, now);
  await retryFallbackSms(db, message.id, retryAt(outcome, count - 1, now));
}
