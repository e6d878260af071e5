import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { CHALLENGE_MINUTES, type Passkey } from '#domain/accounts/passkey.ts';

/** Stores a challenge. @param userId who adds a passkey; null: somebody signs in. */
export async function insertChallenge(db: SystemDb, challenge: string, userId: string | null): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into passkey_challenges (challenge, user_id, expires_at)
    values (${challenge}, ${userId}, now() + make_interval(mins => ${CHALLENGE_MINUTES}))`);
}

/** Uses up a challenge. @returns false if it is unknown, of another user, was used or has expired. */
export async function useChallenge(db: SystemDb, challenge: string, userId: string | null): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from passkey_challenges
    where challenge = ${challenge} and user_id is not distinct from ${userId} and expires_at > now()`);
  return rowCount > 0;
}

const Row = z.object({
  id: z.string(),
  name: z.string(),
  createdAt: z.date(),
  lastUsedAt: z.date().nullable(),
  credentialId: z.string(),
});
export type PasskeyRow = z.infer<typeof Row>;

const COLUMNS = sql.fragment`id, name, created_at, last_used_at, credential_id`;

/** Newest first. */
export async function listPasskeys(db: SystemDb, userId: string): Promise<readonly PasskeyRow[]> {
  return db.any(sql.type(Row)`select ${COLUMNS} from passkeys where user_id = ${userId} order by id desc`);
}

/** Like `listPasskeys`. Simultaneous changes of a user's passkeys wait for one another. */
export async function lockPasskeys(db: SystemDb, userId: string): Promise<readonly PasskeyRow[]> {
  await db.query(sql.type(NoRows)`select from users where id = ${userId} for no key update`);
  return listPasskeys(db, userId);
}

export interface NewPasskey {
  userId: string;
  name: string;
  credentialId: string;
  publicKey: Uint8Array;
  counter: number;
  transports: readonly string[];
}

/** @returns null if the authenticator's id is taken. */
export async function insertPasskey(
  db: SystemDb,
  { userId, name, credentialId, publicKey, counter, transports }: NewPasskey,
): Promise<PasskeyRow | null> {
  return db.maybeOne(sql.type(Row)`
    insert into passkeys (id, user_id, credential_id, public_key, counter, transports, name)
    values (${newId()}, ${userId}, ${credentialId}, ${sql.binary(Buffer.from(publicKey))}, ${counter},
      ${sql.array([...transports], 'text')}, ${name})
    on conflict (credential_id) do nothing returning ${COLUMNS}`);
}

/** @returns false if the user has no such passkey. */
export async function deletePasskey(db: SystemDb, userId: string, id: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from passkeys where id = ${id} and user_id = ${userId}`);
  return rowCount > 0;
}

const CredentialRow = z.object({
  id: z.string(),
  userId: z.string(),
  publicKey: z.instanceof(Buffer),
  counter: z.number(),
});
export type PasskeyCredential = z.infer<typeof CredentialRow>;

/** The passkey with which an authenticator signs; null if it is unknown. Locks it. */
export async function passkeyByCredential(
  db: SystemDb,
  credentialId: string,
): Promise<PasskeyCredential | null> {
  return db.maybeOne(sql.type(CredentialRow)`
    select id, user_id, public_key, counter from passkeys where credential_id = ${credentialId} for update`);
}

export async function recordPasskeyUse(db: SystemDb, id: string, counter: number): Promise<void> {
  await db.query(sql.type(NoRows)`
    update passkeys set counter = ${counter}, last_used_at = now() where id = ${id}`);
}

export const presentPasskey = ({ id, name, createdAt, lastUsedAt }: PasskeyRow): Passkey => ({
  _id: id,
  name,
  createdAt: createdAt.toISOString(),
  lastUsedAt: lastUsedAt?.toISOString() ?? null,
});
