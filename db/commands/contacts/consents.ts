import { followContactChanges } from '#db/commands/campaigns/lead-changes.ts';
import { stopWithoutConsent } from '#db/commands/campaigns/campaign-stops.ts';
import { consentedAmong, type ConsentRow, insertConsents } from '#db/queries/contacts/consents.ts';
import { lockContact, lockFirstConversation } from '#db/queries/sending/message-locks.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { CHANNELS } from '#domain/base/channel.ts';
import { consentKey, type NewConsent } from '#domain/contacts/consent.ts';

/** Adds an entry to the ledger. A withdrawal stops the contact's campaigns that require consent. */
export async function recordConsent(db: TenantDb, consent: NewConsent, now: Date): Promise<ConsentRow> {
  if (consent.status !== 'revoked') return insertConsent(db, consent, now);
  // A campaign that enters the contact now has locked it as well: the withdrawal waits for its messages.
  await lockFirstConversation(db, consent.address);
  await lockContact(db, consent.address);
  const row = await insertConsent(db, consent, now);
  // Another channel may still have consent, and so may this one: the entry may be older than the latest.
  const consented = await consentedAmong(
    db,
    CHANNELS.map((channel) => ({ address: consent.address, channel })),
  );
  const without = CHANNELS.filter((channel) => !consented.has(consentKey(consent.address, channel)));
  await stopWithoutConsent(db, consent.address, without, now);
  return row;
}

async function insertConsent(db: TenantDb, consent: NewConsent, now: Date): Promise<ConsentRow> {
  const [row] = await insertConsents(db, [consent], now);
  await followContactChanges(db, consent.address, now);
  if (!row) throw new Error('the consent was not inserted');
  return row;
}
