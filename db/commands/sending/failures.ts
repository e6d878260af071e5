import { isErased, reasonCode } from '#domain/contacts/erasure.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { fallbackText, outgoingText } from '#domain/messages/outgoing-text.ts';
import { stopFailed } from '#db/commands/campaigns/campaign-stops.ts';
import { isOfDeleted } from '#db/queries/contacts/erasures.ts';
import { findFallbackAccount } from '#db/queries/sending/fallback-config.ts';
import { findLead, presentLead } from '#db/queries/contacts/leads.ts';
import { emitMessageEvents, endBubbles } from '../messages/message-events.ts';
import { lockSequences } from '#db/queries/sending/message-locks.ts';
import { findMessage, type MessageRow } from '#db/queries/messages/messages.ts';
import { isOptedOut } from '#db/queries/contacts/opt-outs.ts';
import { suppressedAmong } from '#db/queries/contacts/suppressions.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { advanceMessage } from '#db/queries/sending/sends.ts';

/** How a message ends that is not sent on the channel of its line: it fails, or an SMS is sent in its place. */

/** The statuses from which a message can still fail or fall back. */
const OPEN = ['pending', 'scheduled', 'sending', 'sent'] as const;

/** Fails a message. Call it under `lockSequences`, because it stops the message's sequence. */
export async function fail(
  db: TenantDb,
  message: MessageRow,
  errorMessage: string,
  now: Date,
): Promise<void> {
  const failed = await advanceMessage(db, message.id, OPEN, { to: 'failed', errorMessage });
  if (!failed) return;
  await stopFailed(db, [failed], now);
  const error = publicReason(failed, errorMessage);
  await emitMessageEvents(db, [{ event: 'message.failed', message: failed, data: { error } }], now);
}

/** The carrier's text may name the contact, which an erased message must not. */
const publicReason = ({ address }: MessageRow, reason: string): string =>
  isErased(address) ? reasonCode(reason) : reason;

/** The reason of a fallback without an attempt on the primary channel. */
const FORCED = 'forced';

type FallbackAccount = NonNullable<Awaited<ReturnType<typeof findFallbackAccount>>>;

/**
 * Ends the primary send of a message whose recipient the channel cannot reach, and queues an SMS through the account; null:
 * without an SMS. If the SMS would have no text, the message fails.
 */
async function fallBack(
  db: TenantDb,
  message: MessageRow,
  reason: string,
  account: FallbackAccount | null,
  now: Date,
): Promise<void> {
  if (account) {
    const lead = message.leadId === null ? null : await findLead(db, message.leadId);
    const template = fallbackText(message, account);
    const sms = outgoingText(template, lead && presentLead(lead), message.attachmentUrls.length);
    if ('reason' in sms) return fail(db, message, sms.reason, now);
  }
  const fallen = await advanceMessage(db, message.id, OPEN, {
    to: 'fallback',
    errorMessage: reason,
    ...(account && { fallbackAt: now }),
  });
  if (!fallen) return;
  // Otherwise they follow by SMS.
  if (!account || fallbackText(message, account) !== message.body) await endBubbles(db, [fallen], now);
  const data = {
    reason: publicReason(fallen, reason),
    ...(reason !== FORCED && !isErased(fallen.address) && { checkedAddresses: [fallen.address] }),
  };
  await emitMessageEvents(db, [{ event: 'message.fallback', message: fallen, data }], now);
}

/** Ends the primary send of a message whose carrier says, at once or later, that the channel cannot reach the recipient. */
export async function fallBackUnavailable(
  db: TenantDb,
  message: MessageRow,
  reason: string,
  now: Date,
): Promise<void> {
  const wantsSms = message.smsFallbackEnabled || message.sendFallbackSmsOnFailed;
  const account = wantsSms ? await fallbackAccountFor(db, message) : null;
  return fallBack(db, message, reason, account, now);
}

/**
 * Queues an SMS for a message whose primary send has failed for good, if it is to have one; otherwise the message fails.
 * @returns whether an SMS was possible. If it would have had no text, the message has failed nevertheless.
 */
export async function failOrFallBack(
  db: TenantDb,
  message: MessageRow,
  reason: string,
  now: Date,
): Promise<boolean> {
  const account = message.sendFallbackSmsOnFailed ? await fallbackAccountFor(db, message) : null;
  if (account) await fallBack(db, message, reason, account, now);
  else await fail(db, message, reason, now);
  return account !== null;
}

/** The account that can send the fallback SMS of a message; null: there is none, or the message has no phone number. */
async function fallbackAccountFor(db: TenantDb, message: MessageRow): Promise<FallbackAccount | null> {
  if (message.recipientPhone === null || (await isOfDeleted(db, message))) return null;
  const account = await findFallbackAccount(db);
  return account?.enabled === true ? account : null;
}

/** Sends a message as SMS without trying its primary channel (`forceFallback`). */
export async function forceFallback(db: TenantDb, messageId: string, now: Date): Promise<void> {
  await lockSequences(db, [messageId]);
  const message = await findMessage(db, messageId);
  if (!message || !['pending', 'scheduled'].includes(message.status)) return;
  if (message.recipientPhone === null) return fail(db, message, 'no_phone_number_for_sms', now);
  if (await isOptedOut(db, contactKey(message.recipientPhone)))
    return fail(db, message, 'recipient_opted_out', now);
  if ((await suppressedAmong(db, [contactKey(message.recipientPhone)])).size > 0)
    return fail(db, message, 'recipient_suppressed', now);
  const account = await findFallbackAccount(db);
  if (!account?.enabled) return fail(db, message, 'fallback_not_configured', now);
  return fallBack(db, message, FORCED, (await isOfDeleted(db, message)) ? null : account, now);
}
