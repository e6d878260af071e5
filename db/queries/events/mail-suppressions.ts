import { hash } from 'node:crypto';
import { sql } from 'slonik';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

const hashOf = (email: string): string => hash('sha256', email.toLowerCase());

/** Records that an address wants no more invitations, from any tenant. */
export async function suppressMail(db: SystemDb, email: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into mail_suppressions (address_hash) values (${hashOf(email)}) on conflict do nothing`);
}

export async function isMailSuppressed(db: SystemDb, email: string): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select from mail_suppressions where address_hash = ${hashOf(email)}`);
}
