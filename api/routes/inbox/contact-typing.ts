import { findReachableContact } from '#db/queries/inbox/conversations.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { realTime } from '#domain/base/clock.ts';
import { CONTACT_TYPING_EVENT, CONTACT_TYPING_SECONDS } from '#domain/inbox/presence.ts';
import type { PresenceBoard } from './presence.ts';

/** Tells who looks at the conversation that its contact types. Nothing is stored, and strangers have no conversation. */
export async function announceTyping(
  db: TenantDb,
  presence: Pick<PresenceBoard, 'tell'>,
  { from, isOn }: { from: string; isOn: boolean },
): Promise<void> {
  const address = await findReachableContact(db, from);
  if (address === null) return;
  const at = realTime();
  await presence.tell(db, {
    event: CONTACT_TYPING_EVENT,
    timestamp: at.toISOString(),
    workspaceId: db.workspaceId,
    address,
    state: isOn ? 'on' : 'off',
    expiresAt: new Date(at.getTime() + CONTACT_TYPING_SECONDS * 1000).toISOString(),
  });
}
