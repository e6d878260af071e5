import { sql } from 'slonik';
import { z } from 'zod';
import { newId } from '#domain/ids.ts';
import { MailData, MailTemplate, type NewMail } from '#domain/mail.ts';
import { mailSenderId } from '#workflows/messages/wake.ts';
import { Nothing, type TenantDb } from '#db/pool.ts';
import { requestWake } from '#db/wakes.ts';

/** Seals and opens what an email is filled with, by the id of its row. */
export interface MailSeal {
  seal(plain: string, mailId: string): string;
  open(sealed: string, mailId: string): string;
}

const Row = z.object({
  id: z.string(),
  recipient: z.string(),
  template: MailTemplate,
  dataSealed: z.string(),
  attemptCount: z.int(),
  createdAt: z.date(),
});
export type MailRow = z.infer<typeof Row>;

/**
 * Writes an email to the outbox, in the transaction that gives the reason for it and near its end: see `requestWake`.
 * @returns true when the mail sender has to be woken after the commit.
 */
export async function queueMail(
  db: TenantDb,
  mail: NewMail,
  { seal }: Pick<MailSeal, 'seal'>,
  now: Date,
): Promise<boolean> {
  const id = newId(now);
  const data = seal(JSON.stringify(MailData[mail.template].parse(mail.data)), id);
  const { rowCount } = await db.query(sql.type(Nothing)`
    insert into mails (workspace_id, id, recipient, template, data_sealed, dedupe_key, next_attempt_at)
    values (${db.workspaceId}, ${id}, ${mail.to}, ${mail.template}, ${data}, ${mail.dedupeKey ?? null}, ${sql.timestamp(now)})
    on conflict do nothing`);
  return rowCount > 0 && requestWake(db, mailSenderId(db.workspaceId), now);
}

/**
 * Takes the email that is due longest, and puts its next attempt off: whoever else looks meanwhile does not find it.
 * @param until when it is tried again if its sender never says what came of it.
 */
export async function claimMail(db: TenantDb, now: Date, until: Date): Promise<MailRow | null> {
  return db.maybeOne(sql.type(Row)`
    update mails set next_attempt_at = ${sql.timestamp(until)}
    where workspace_id = ${db.workspaceId} and id = (
      select id from mails
      where workspace_id = ${db.workspaceId} and status = 'pending' and next_attempt_at <= ${sql.timestamp(now)}
      order by next_attempt_at, id limit 1 for update skip locked)
    returning *`);
}

/** When the next email is to be tried; null when none waits. */
export async function nextMailAt(db: TenantDb): Promise<Date | null> {
  return db.oneFirst(sql.type(z.object({ at: z.date().nullable() }))`
    select min(next_attempt_at) "at" from mails where workspace_id = ${db.workspaceId} and status = 'pending'`);
}

export type MailResult =
  | { status: 'sent' }
  | { status: 'failed'; error: string }
  | { status: 'pending'; error: string; retryAt: Date };

export async function finishMail(db: TenantDb, id: string, result: MailResult, now: Date): Promise<void> {
  await db.query(sql.type(Nothing)`
    update mails set status = ${result.status}, attempt_count = attempt_count + 1,
      error = ${'error' in result ? result.error : null},
      sent_at = ${result.status === 'sent' ? sql.timestamp(now) : null},
      next_attempt_at = ${sql.timestamp('retryAt' in result ? result.retryAt : now)}
    where workspace_id = ${db.workspaceId} and id = ${id} and status = 'pending'`);
}
