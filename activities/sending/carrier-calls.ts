import { currentTime } from '#domain/base/clock.ts';
import { receiveCarrierEvents } from '#db/commands/inbox/carrier-reports.ts';
import {
  type AttemptRow,
  carrierIdsAt,
  markAnsweredElsewhere,
  type OpenAttempt,
} from '#db/queries/sending/attempts.ts';
import type { LostRecords } from '#domain/messages/lost-records.ts';
import { inMessageSpan } from '#db/connection/message-traces.ts';
import { withTenant } from '#db/connection/transactions.ts';
import type {
  Carrier,
  CarrierGroup,
  OutboundMessage,
  ReconcileOutcome,
} from '#providers/carriers/carrier.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { timeLimit } from '#providers/time-limit.ts';
import type { Dependencies } from '../dependencies.ts';
import type { LineAtCarrier } from '../lines/line-location.ts';
import type { Settled } from '#db/commands/sending/outcomes.ts';
import type { Settle } from './settlement.ts';

/** As long as messages are retried while their carrier cannot be reached: nobody knows before whether this one was sent. */
const RECONCILE_FOR_MS = 24 * 3_600_000;

const OUTCOME_UNKNOWN = { kind: 'unknown', reason: 'outcome_unknown' } as const;

/** A carrier, and the settings of the account that an attempt uses. */
export interface CarrierAccount {
  carrier: Carrier;
  config: unknown;
  /** The number or address from which it sends, unless the settings name another; null: they do. */
  from: string | null;
}

/** The account of a line. */
export const lineAccount = (
  parts: Parameters<typeof lineCarrier>[0],
  line: Parameters<typeof lineCarrier>[1] & { phone: string | null; email: string | null },
): CarrierAccount => ({ ...lineCarrier(parts, line), from: line.phone ?? line.email });

/** The content of an attempt, as far as it is known. */
export interface AttemptContent {
  text: string | null;
  attachmentCount: number;
  /** The number or address with which the carrier was called. */
  to: string;
  /** The group to which it went, instead. */
  group?: CarrierGroup;
}

/** A message may have been sent without a record, because the database was restored. */
export interface PossibleDuplicate {
  lost: LostRecords;
  /**
   * The workspace's other lines whose records are lost too: a repeated request may get another line. A line that cannot be reached
   * delays nothing.
   */
  others: readonly (CarrierAccount & { lineId: string })[];
}

/** What carriers are asked about attempts. Each call settles its attempt, unless the carrier cannot tell yet. */
export interface CarrierCalls {
  /**
   * Sends the message. The call ends before the attempt's `answerBy`, when others take it for ended. If the carrier does
   * not answer, it is asked once what it did.
   * @param possibleDuplicate set if the message may have been sent without a record. The carrier is asked first, and gets the message only if it
   * does not have it.
   * @returns whether the carrier accepted the message in this call.
   */
  send(
    line: LineAtCarrier,
    account: CarrierAccount,
    attempt: AttemptRow,
    message: OutboundMessage,
    possibleDuplicate: PossibleDuplicate | null,
  ): Promise<boolean>;
  /** Asks what became of an attempt whose call has ended without an answer. */
  ask(
    line: LineAtCarrier,
    account: CarrierAccount,
    attempt: OpenAttempt,
    content: AttemptContent,
  ): Promise<void>;
}

export function createCarrierCalls(
  { pools, links, logger }: Pick<Dependencies, 'pools' | 'links' | 'logger'>,
  settle: Settle,
): CarrierCalls {
  /** Before the attempt is settled, as callbacks may come before the response, so that a crash in between loses nothing. */
  async function receiveReports(
    { workspaceId, lineId }: LineAtCarrier,
    found: ReconcileOutcome,
  ): Promise<void> {
    if (found.kind !== 'accepted' || !found.reports) return;
    const line = { workspaceId, lineId, crossesTransfers: false };
    await receiveCarrierEvents({ pools, links }, line, found.reports);
  }

  async function lookUp(
    line: LineAtCarrier,
    { carrier, config, from }: CarrierAccount,
    attempt: AttemptRow,
    content: AttemptContent,
    { from: startedAt, until: startedBy }: LostRecords,
  ): Promise<ReconcileOutcome> {
    const { id: attemptId, lineId, channel, address } = attempt;
    const takenIds = await withTenant(pools, line.workspaceId, (db) => carrierIdsAt(db, address, startedAt));
    const found = await carrier.reconcile(config, {
      attemptId,
      lineId,
      channel,
      from,
      startedAt,
      startedBy,
      takenIds,
      ...content,
    });
    await receiveReports(line, found);
    return found;
  }

  /** @returns the outcome of a message that was sent without a record; null if it was not sent. */
  async function findLost(
    line: LineAtCarrier,
    account: CarrierAccount,
    attempt: AttemptRow,
    content: AttemptContent,
    { lost, others }: PossibleDuplicate,
  ): Promise<Settled | null> {
    const askOf = (asked: CarrierAccount) => lookUp(line, asked, attempt, content, lost);
    const found = await askOf(account);
    if (found.kind === 'unreachable') return { kind: 'transient', reason: found.reason };
    if (found.kind === 'unknown') return OUTCOME_UNKNOWN;
    if (found.kind === 'accepted') return found;
    const elsewhere = await Promise.all(others.map(askOf));
    return elsewhere.flatMap((answer) => (answer.kind === 'accepted' ? [answer] : []))[0] ?? null;
  }

  const send: CarrierCalls['send'] = async (line, account, attempt, message, possibleDuplicate) => {
    const { carrier, config } = account;
    const content = {
      text: message.text,
      attachmentCount: message.attachments.length,
      to: message.to.address,
      ...(message.group && { group: message.group }),
    };
    const known = possibleDuplicate && (await findLost(line, account, attempt, content, possibleDuplicate));
    if (known) {
      await settle(line, attempt, known, message.text);
      return known.kind === 'accepted';
    }
    const left = attempt.answerBy.getTime() - currentTime().getTime();
    if (left <= 0) {
      await settle(line, attempt, { kind: 'not_sent', reason: 'not started in time' });
      return false;
    }
    const { id: attemptId, messageId } = attempt;
    const { lineId } = line;
    const ids = { 'linepace.attempt_id': attemptId, 'linepace.line_id': lineId };
    const attributes = { ...ids, 'linepace.carrier': carrier.name };
    const outcome = await inMessageSpan('carrier send', messageId, attributes, async (span) => {
      const answer = await carrier.send(config, message, timeLimit(left));
      span.setAttribute('linepace.outcome', answer.kind);
      return answer;
    });
    if (outcome.kind !== 'unknown') {
      await settle(line, attempt, outcome, message.text);
      return outcome.kind === 'accepted';
    }
    const { reason } = outcome;
    logger.warn({ lineId, attemptId, reason }, 'the carrier did not answer');
    if (outcome.ofLine)
      await withTenant(pools, line.workspaceId, (db) => markAnsweredElsewhere(db, attemptId, reason));
    await ask(line, account, { ...attempt, about: outcome.ofLine ? 'line' : null, reason }, content);
    return false;
  };

  const ask: CarrierCalls['ask'] = async (line, account, attempt, content) => {
    const { startedAt } = attempt;
    const found = await lookUp(line, account, attempt, content, { from: startedAt, until: startedAt });
    if (found.kind === 'accepted') return settle(line, attempt, found, content.text);
    if (found.kind === 'not_sent') {
      const { about, reason } = attempt;
      // Who has answered in the place of the carrier did not pass it on.
      if (about === 'line' && reason !== null)
        return settle(line, attempt, { kind: 'transient', reason, ofLine: true });
      return settle(line, attempt, { kind: 'not_sent', reason: 'the carrier did not take it' });
    }
    const isTooOld = currentTime().getTime() - startedAt.getTime() > RECONCILE_FOR_MS;
    if (found.kind === 'unknown' || isTooOld) await settle(line, attempt, OUTCOME_UNKNOWN);
  };

  return { send, ask };
}
