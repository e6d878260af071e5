import { recipientOf } from '#db/queries/messages/message-recipient.ts';
import { sendWindow } from '#db/queries/messages/message-window.ts';
import { findMessages } from '#db/queries/messages/messages.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { heldOutside, type PacedLine } from '#domain/sending/holds.ts';

/**
 * Finds the messages to send as SMS now, in their windows and outside of their recipients' quiet hours. The others are in no lane that could hold them.
 * @param ids in the order in which they are sent.
 * @param postpone moves messages to later times. @returns how many, as it skips some.
 */
export async function withoutQuietHours(
  db: TenantDb,
  line: PacedLine,
  ids: readonly string[],
  now: Date,
  postpone: (db: TenantDb, later: ReadonlyMap<string, Date>, reason: string) => Promise<number>,
): Promise<{ awake: string[]; postponed: number }> {
  if (ids.length === 0) return { awake: [], postponed: 0 };
  const held = new Map<string, NonNullable<ReturnType<typeof heldOutside>>>();
  for (const message of await findMessages(db, ids)) {
    const isAnswer = message.answersUntil !== null && message.answersUntil > now;
    const hold = heldOutside(
      line,
      { isAnswer, recipient: recipientOf(message), ...sendWindow(message) },
      now,
    );
    if (hold) held.set(message.id, hold);
  }
  let postponed = 0;
  for (const [reason, these] of Map.groupBy(held, ([, hold]) => hold.reason))
    postponed += await postpone(db, new Map(these.map(([id, { to }]) => [id, to])), reason);
  return { awake: ids.filter((id) => !held.has(id)), postponed };
}
