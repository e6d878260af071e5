import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { Channel } from '#domain/base/channel.ts';
import { lockLimit } from '#db/queries/accounts/limits.ts';
import { LimitReached, MAX_VERIFICATIONS } from '#domain/accounts/limits.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { newId } from '#domain/base/ids.ts';
import { messageLinks } from '#domain/contacts/opt-in-link.ts';
import {
  MAX_TRIES,
  type Verification,
  VERIFICATION_MS,
  verificationStatus,
} from '#domain/contacts/verification.ts';

const VerificationRow = z.object({
  id: z.string(),
  phone: z.string(),
  lineId: z.string(),
  code: z.string(),
  verifiedAt: z.date().nullable(),
  expiresAt: z.date(),
  createdAt: z.date(),
  channel: Channel.nullable(),
  linePhone: z.string().nullable(),
  lineEmail: z.string().nullable(),
});
export type VerificationRow = z.infer<typeof VerificationRow>;

export const findVerification = (db: TenantDb, id: string): Promise<VerificationRow | null> =>
  db.maybeOne(sql.type(VerificationRow)`
    select v.*, l.channel, l.phone line_phone, l.email line_email from verifications v
    left join lines l on l.workspace_id = ${db.workspaceId} and l.id = v.line_id
    where v.workspace_id = ${db.workspaceId} and v.id = ${id}`);

/** @throws LimitReached if as many are open for the number as may be. */
export async function insertVerification(
  db: TenantDb,
  { phone, lineId, code }: { phone: string; lineId: string; code: string },
  now: Date,
): Promise<VerificationRow> {
  const id = newId(now);
  await lockLimit(db, `verifications of ${contactKey(phone)} in ${db.workspaceId}`);
  const isFull = await db.exists(sql.type(NoRows)`
    select from verifications where ${isOpen(db, contactKey(phone), now)} offset ${MAX_VERIFICATIONS - 1} limit 1`);
  if (isFull) throw new LimitReached('verifications', VERIFICATION_MS / 1000);
  await db.query(sql.type(NoRows)`
    insert into verifications (workspace_id, id, address, phone, line_id, code, expires_at, created_at)
    values (${db.workspaceId}, ${id}, ${contactKey(phone)}, ${phone}, ${lineId}, ${code},
      ${sql.timestamp(new Date(now.getTime() + VERIFICATION_MS))}, ${sql.timestamp(now)})`);
  const row = await findVerification(db, id);
  if (!row) throw new Error('the verification was not inserted');
  return row;
}

/** The verifications of a number for which a code is expected. */
const isOpen = (db: TenantDb, address: string, at: Date) => sql.fragment`
  workspace_id = ${db.workspaceId} and address = ${address} and verified_at is null and expires_at > ${sql.timestamp(at)}`;

/**
 * Verifies the number from which a contact sent one of the codes. A message with other codes counts as a try, and too many end what is
 * open. @returns whether a code was expected.
 */
export async function verifyNumber(
  db: TenantDb,
  { replyId, address, codes, at }: { replyId: string; address: string; codes: readonly string[]; at: Date },
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update verifications set verified_at = ${sql.timestamp(at)}, reply_id = ${replyId}
    where ${isOpen(db, address, at)} and code = any(${sql.array([...codes], 'text')})`);
  if (rowCount > 0) return true;
  await db.query(sql.type(NoRows)`
    update verifications set tries = tries + 1,
      expires_at = case when tries + 1 < ${MAX_TRIES} then expires_at else ${sql.timestamp(at)} end
    where ${isOpen(db, address, at)}`);
  return false;
}

/** Deletes what was to be verified by erased contacts. */
export async function deleteVerificationsOf(db: TenantDb, addresses: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from verifications
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')})`);
}

export function presentVerification(row: VerificationRow, now: Date): Verification {
  const { id, phone, lineId, code, channel, linePhone, lineEmail } = row;
  const line = channel === null ? null : { channel, phone: linePhone, email: lineEmail };
  return {
    _id: id,
    phone,
    status: verificationStatus(row, now),
    code,
    lineId,
    ...messageLinks(line, `My code is ${code}`),
    expiresAt: row.expiresAt.toISOString(),
    verifiedAt: row.verifiedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  };
}
