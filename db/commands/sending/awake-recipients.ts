import { recipientOf } from '#db/queries/messages/message-recipient.ts';
import { sendWindow } from '#db/queries/messages/message-window.ts';
import { findMessages } from '#db/queries/messages/messages.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { type PacedLine, quietUntil } from '#domain/sending/holds.ts';

/**
 * Finds the messages to send as SMS now whose recipients have no quiet hours. The others are in no lane that could hold them.
 * @param ids in the order in which they are sent.
 * @param postpone moves messages to the ends of their recipients' quiet hours. @returns how many, as it skips some.
 */
export async function withoutQuietHours(
  db: TenantDb,
  line: PacedLine,
  ids: readonly string[],
  now: Date,
  postpone: (db: TenantDb, asleep: ReadonlyMap<string, Date>) => Promise<number>,
): Promise<{ awake: string[]; postponed: number }> {
  if (ids.length === 0) return { awake: [], postponed: 0 };
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
  return { awake: ids.filter((id) => !asleep.has(id)), postponed: await postpone(db, asleep) };
}
