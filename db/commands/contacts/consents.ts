import { followContactChanges, followLeadChanges } from '#db/commands/campaigns/lead-changes.ts';
import { stopWithoutConsent } from '#db/commands/campaigns/campaign-stops.ts';
import { consentedAmong, type ConsentRow, insertConsents } from '#db/queries/contacts/consents.ts';
import {
  lockContact,
  lockFirstConversation,
  lockFirstConversations,
  lockSequencesTo,
} from '#db/queries/sending/message-locks.ts';
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
  await stopUnlessConsented(db, [consent.address], now);
  return row;
}

/** Like `recordConsent`, for the rows of a file. @param leadIds has campaigns look at these leads, and not at others with the addresses. */
export async function recordConsents(
  db: TenantDb,
  consents: readonly NewConsent[],
  leadIds: readonly string[],
  now: Date,
): Promise<void> {
  const withdrawals = consents.filter(({ status }) => status === 'revoked');
  const withdrawn = [...new Set(withdrawals.map(({ address }) => address))];
  await lockFirstConversations(db, withdrawn);
  // All of them in one order.
  if (withdrawn.length > 0) await lockSequencesTo(db, withdrawn, leadIds);
  await insertConsents(db, consents, now);
  await followLeadChanges(db, leadIds, now);
  if (withdrawn.length > 0) await stopUnlessConsented(db, withdrawn, now);
}

async function stopUnlessConsented(db: TenantDb, addresses: readonly string[], now: Date): Promise<void> {
  // Another channel may still have consent, and so may this one: the entry may be older than the latest.
  const reached = addresses.flatMap((address) => CHANNELS.map((channel) => ({ address, channel })));
  const consented = await consentedAmong(db, reached);
  const without = reached.filter(({ address, channel }) => !consented.has(consentKey(address, channel)));
  await stopWithoutConsent(db, without, now);
}

async function insertConsent(db: TenantDb, consent: NewConsent, now: Date): Promise<ConsentRow> {
  const [row] = await insertConsents(db, [consent], now);
  await followContactChanges(db, consent.address, now);
  if (!row) throw new Error('the consent was not inserted');
  return row;
}
