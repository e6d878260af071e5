import { emitCanceled } from '#db/commands/messages/message-events.ts';
import { followCampaign } from '#db/commands/campaigns/campaign-steps.ts';
import { cancelMessage, type MessageRow, presentMessage } from '#db/queries/messages/messages.ts';
import { makeDue, setSendNow } from '#db/queries/sending/line-orders.ts';
import type { LineRow } from '#db/queries/lines/lines.ts';
import { lockSequences } from '#db/queries/sending/message-locks.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { NO_CARRIER } from '#domain/lines/line.ts';
import type { StoredStatus } from '#domain/messages/message-status.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { whyNotNow } from './send-plan.ts';

/**
 * Cancels a message that has not been sent yet.
 * @throws Refusal: NOT_FOUND, MESSAGE_NOT_CANCELABLE
 */
export async function cancelWaitingMessage(db: TenantDb, id: string, now: Date): Promise<MessageRow> {
  // In the common lock order, because the sequence may end with this message.
  await lockSequences(db, [id]);
  const { message, canceled } = await cancelMessage(db, id);
  if (!message) throw new Refusal('NOT_FOUND', null, 'Message not found');
  if (!canceled) {
    const status = message.status === 'sending' ? 'being sent' : presentMessage(message).status;
    throw new Refusal('MESSAGE_NOT_CANCELABLE', null, `The message is ${status}`);
  }
  await emitCanceled(db, [message], now);
  await followCampaign(db, id, now);
  return message;
}

const LEFT: readonly StoredStatus[] = ['sending', 'sent', 'delivered'];

/**
 * Has a line send a message within moments, regardless of its scheduled time and of gaps, but never despite an opt-out, a cap, a window,
 * or on a line that cannot send. Requires the line's lock.
 * @returns false if it has been sent, or is to be sent now already.
 * @throws Refusal: INVALID_STATE
 */
export async function sendMessageNow(
  db: TenantDb,
  line: LineRow,
  { id, status }: MessageRow,
  now: Date,
): Promise<boolean> {
  const refused = (text: string): Refusal => new Refusal('INVALID_STATE', null, text);
  if (line.sendNow.includes(id) || LEFT.includes(status)) return false;
  if (line.carrier === NO_CARRIER) throw refused('The line is not connected to a carrier');
  if (status !== 'pending' && status !== 'scheduled') throw refused(`The message is ${status}`);
  if (!(await makeDue(db, id, now)))
    throw refused('The message waits for its campaign, or for the step before it');
  const wait = await whyNotNow(db, line, id, now);
  if (wait !== null) throw refused(wait);
  await setSendNow(db, line.id, [...line.sendNow, id]);
  wake(db, linePacerId(line.id), now, 'messagesDue');
  return true;
}
