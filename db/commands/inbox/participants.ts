import { byContact, isOutdated, optOut } from '#db/commands/contacts/opt-outs.ts';
import { isOptedOut } from '#db/queries/contacts/opt-outs.ts';
import type { InboundRow } from '#db/queries/inbox/replies.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/** Opts out who wrote STOP to a group. Requires the lock of the contact. */
export async function optOutParticipant(
  db: TenantDb,
  { id, lineId, participant }: Pick<InboundRow, 'id' | 'lineId' | 'participant'>,
  at: Date,
  now: Date,
): Promise<void> {
  if (participant === null || (await isOptedOut(db, participant))) return;
  if (await isOutdated(db, participant, 'stop', at)) return;
  db.lineSignals.add(lineId, now, { optouts: 1 });
  await optOut(db, participant, { source: 'reply', at, now, author: byContact(id), replyId: id });
}
