import { recipientOf } from '#db/queries/message-recipient.ts';
import { sendWindow } from '#db/queries/message-window.ts';
import { findMessages } from '#db/queries/messages.ts';
import { postponeAsleep } from '#db/queries/queue.ts';
import type { TenantDb } from '#db/transactions.ts';
import { type PacedLine, quietUntil } from '#domain/pacing.ts';

/**
 * Returns the messages to send as SMS immediately whose recipients have no quiet hours now. The others are moved to the end of their
 * quiet hours, because they are in no lane that could hold them.
 * @param ids in the order in which they are sent.
 */
export async function awakeAmong(
  db: TenantDb,
  line: PacedLine,
  ids: readonly string[],
  now: Date,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const asleep = new Map<string, Date>();
  for (const message of await findMessages(db, ids)) {
    const isAnswer = message.answersUntil !== null && message.answersUntil > now;
    const until = quietUntil(
      line,
      { isAnswer, recipient: recipientOf(message), ...sendWindow(message) },
      now,
    );
    if (until) asleep.set(message.id, until);
  }
  await postponeAsleep(db, asleep);
  return ids.filter((id) => !asleep.has(id));
}
