import {
  type AttemptOutcome,
  type AttemptRow,
  finishAccepted,
  hasOpenAttempt,
} from '#db/queries/sending/attempts.ts';
import { followCampaign } from '#db/commands/campaigns/campaign-steps.ts';
import { releaseBubbles } from '#db/commands/messages/bubbles.ts';
import { sendReadReceipts } from '#db/commands/inbox/conversation-actions.ts';
import { emitSentDraft } from '#db/commands/drafts/draft-events.ts';
import {
  applyEarlyEvents,
  type CarrierMessage,
  carrierMessageKey,
  type Delivered,
  endsContact,
  firstReceipts,
  type LineEvent,
  lockCarrierMessages,
  takeDeferredEvents,
} from '#db/commands/inbox/carrier-events.ts';
import { lockContact, lockSequences } from '#db/queries/sending/message-locks.ts';
import type { Happening } from '#db/connection/message-traces.ts';
import { findMessage, type MessageRow } from '#db/queries/messages/messages.ts';
import { endFallbackSms, markSent, recordReached, takeFromQueue } from '#db/queries/sending/sends.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { Transport } from '#domain/messages/transport.ts';
import { emitDelivered, emitMessageEvents } from '../messages/message-events.ts';

/** An attempt of a message's primary channel that the carrier has accepted. */
export interface AcceptedSend {
  attempt: AttemptRow;
  carrierMessageId: string;
  /** Null: the carrier does not say it. */
  transport?: Transport | null;
  /** What was sent; null: no longer known. */
  text: string | null;
  at: Date;
  happenedIn: Happening;
}

/** Attempts that the carrier accepted after they had been settled otherwise. */
export interface LateAcceptance {
  send: AcceptedSend;
  settledAs: AttemptOutcome;
}

/** Sends cannot be settled together, because one of them locks the rows of its contact before those of its message. */
class CannotBatch extends Error {}

/**
 * Writes the outcomes of attempts, the statuses of their messages and the events of these in one commit, with what
 * carriers reported about them before they responded. A message whose attempt had been given up leaves the queue, so that it is
 * not sent again. Messages that have ended meanwhile stay as they are.
 * @throws if several cannot be settled together; the caller then settles each alone.
 */
export async function settleAccepted(
  db: TenantDb,
  sends: readonly AcceptedSend[],
  now: Date,
): Promise<LateAcceptance[]> {
  const messages = sends.map(carrierMessageOf);
  await lockCarrierMessages(db, messages);
  const since = new Date(Math.min(...sends.map(({ attempt }) => attempt.startedAt.getTime())));
  const early = await takeDeferredEvents(db, messages, since);
  const endsTheContact = early.some(({ event }) => endsContact(event));
  if (endsTheContact && sends.length > 1) throw new CannotBatch();

  const receipts = firstReceipts(early);
  const receiptOf = (send: AcceptedSend) => receipts.get(carrierMessageKey(carrierMessageOf(send)));
  const accepted = sends.map(({ attempt: { id }, carrierMessageId, at }) => ({ id, carrierMessageId, at }));
  const settledAs = new Map((await finishAccepted(db, accepted)).map((one) => [one.id, one.settledAs]));
  const late = sends.flatMap((send) => {
    const before = settledAs.get(send.attempt.id);
    return before ? [{ send, settledAs: before }] : [];
  });
  if (late.length > 0 && sends.length > 1) throw new CannotBatch();
  // What its claim had recorded was reverted.
  for (const { send } of late) await recordReached(db, send.attempt);
  const sent = await markAccepted(
    db,
    sends.filter(({ attempt }) => settledAs.has(attempt.id)),
    { receiptOf, endsTheContact, isLate: late.length > 0 },
    now,
  );
  const arrived = new Set(sent.flatMap(({ id, status }) => (status === 'delivered' ? [id] : [])));
  const applied = new Set<LineEvent | undefined>(
    sends.filter(({ attempt }) => arrived.has(attempt.messageId)).map(receiptOf),
  );
  await applyEarlyEvents(
    db,
    early.filter((event) => !applied.has(event)),
    now,
  );
  const outsideCampaigns = new Set(sent.flatMap(({ id, campaignId }) => (campaignId === null ? [id] : [])));
  for (const { attempt } of sends) {
    if (!outsideCampaigns.has(attempt.messageId)) await followCampaign(db, attempt.messageId, now);
  }
  return late;
}

const carrierMessageOf = ({ attempt: { lineId }, carrierMessageId }: AcceptedSend): CarrierMessage => ({
  lineId,
  carrierMessageId,
});

async function markAccepted(
  db: TenantDb,
  sends: readonly AcceptedSend[],
  {
    receiptOf,
    endsTheContact,
    isLate,
  }: Readonly<{
    /** The receipt that arrived before the response. */
    receiptOf: (send: AcceptedSend) => LineEvent<Delivered> | undefined;
    endsTheContact: boolean;
    /** The attempts had been settled otherwise, so that their messages may be in the queue again. */
    isLate: boolean;
  }>,
  now: Date,
): Promise<readonly MessageRow[]> {
  if (sends.length === 0) return [];
  const ids = sends.map(({ attempt }) => attempt.messageId);
  if (endsTheContact) {
    for (const id of ids) {
      const message = await findMessage(db, id);
      if (message) await lockContact(db, message.address, [id]);
    }
  } else await lockSequences(db, ids);
  if (isLate) await sendNoMore(db, ids);
  const sent = await markSent(
    db,
    sends.map((send) => ({
      id: send.attempt.messageId,
      carrierMessageId: send.carrierMessageId,
      transport: receiptOf(send)?.event.transport ?? send.transport ?? null,
      sentAt: send.at,
      deliveredAt: receiptOf(send)?.event.at ?? null,
      text: send.text,
      happenedIn: send.happenedIn,
    })),
  );
  // Each event says that its message was sent, even if it has been delivered in the meantime.
  const sentFirst = sent.map((message) => ({ ...message, status: 'sent' as const, deliveredAt: null }));
  await emitMessageEvents(
    db,
    sentFirst.map((message) => ({ event: 'message.sent', message, data: {} })),
    now,
  );
  await emitDelivered(
    db,
    sent.filter(({ deliveredAt }) => deliveredAt !== null),
    now,
  );
  for (const message of sent) await emitSentDraft(db, message, now);
  await sendReadReceipts(db, sent, now);
  await releaseBubbles(db, sent, now);
  return sent;
}

/** Messages that have left are neither sent again nor as an SMS. */
async function sendNoMore(db: TenantDb, ids: readonly string[]): Promise<void> {
  await takeFromQueue(db, ids);
  for (const id of ids) {
    // The SMS may be leaving; its attempt settles it.
    if (!(await hasOpenAttempt(db, id))) await endFallbackSms(db, id, 'failed');
  }
}
