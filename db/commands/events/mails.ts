import { type CommonQueryMethods, sql } from 'slonik';
import { z } from 'zod';
import { newId } from '#domain/base/ids.ts';
import { MailData, MailTemplate, type NewMail } from '#domain/events/mail.ts';
import { mailSenderId } from '#workflows/protocol/workflow-ids.ts';
import { AtRow, NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { GRACE } from '#db/wakes/workflow-wakes.ts';

/** The emails of one workspace, or of one agency. */
export interface Outbox {
  readonly db: CommonQueryMethods;
  readonly table: 'mails' | 'agency_mails';
  readonly owner: 'workspace_id' | 'agency_id';
  readonly ownerId: string;
}

export const workspaceOutbox = (db: TenantDb): Outbox => ({
  db,
  table: 'mails',
  owner: 'workspace_id',
  ownerId: db.workspaceId,
});

export const agencyOutbox = (db: SystemDb, agencyId: string): Outbox => ({
  db,
  table: 'agency_mails',
  owner: 'agency_id',
  ownerId: agencyId,
});

const tableOf = ({ table }: Outbox) => sql.identifier([table]);
const isOwn = ({ owner, ownerId }: Outbox) => sql.fragment`${sql.identifier([owner])} = ${ownerId}`;

/** Encrypts and decrypts the data of an email, bound to the id of its row. */
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
 * Queues an email of a workspace in the transaction of its cause. In test mode no emails are sent.
 * @param dueAt when to send it.
 */
export async function queueMail(
  db: TenantDb,
  mail: NewMail,
  seal: Pick<MailSeal, 'seal'>,
  dueAt: Date,
): Promise<void> {
  if (db.aheadMs !== null) return;
  const isNew = await insertMail(workspaceOutbox(db), mail, seal, dueAt);
  if (isNew) wake(db, mailSenderId(db.workspaceId), dueAt, 'mailsDue');
}

/** @returns false if an email with the same `dedupeKey` exists. */
export async function insertMail(
  outbox: Outbox,
  mail: NewMail,
  { seal }: Pick<MailSeal, 'seal'>,
  dueAt: Date,
): Promise<boolean> {
  const id = newId();
  const data = seal(JSON.stringify(MailData[mail.template].parse(mail.data)), id);
  const { rowCount } = await outbox.db.query(sql.type(NoRows)`
    insert into ${tableOf(outbox)} (${sql.identifier([outbox.owner])}, id, recipient, template, data_sealed, dedupe_key, next_attempt_at)
    values (${outbox.ownerId}, ${id}, ${mail.to}, ${mail.template}, ${data}, ${mail.dedupeKey ?? null}, ${sql.timestamp(dueAt)})
    on conflict do nothing`);
  return rowCount > 0;
}

/**
 * Claims the email that is longest overdue by postponing its next attempt.
 * @param until when it is retried if the sender crashes.
 */
export async function claimMail(outbox: Outbox, now: Date, until: Date): Promise<MailRow | null> {
  return outbox.db.maybeOne(sql.type(Row)`
    update ${tableOf(outbox)} set next_attempt_at = ${sql.timestamp(until)}
    where ${isOwn(outbox)} and id = (
      select id from ${tableOf(outbox)}
      where ${isOwn(outbox)} and status = 'pending' and next_attempt_at <= ${sql.timestamp(now)}
      order by next_attempt_at, id limit 1 for update skip locked)
    returning *`);
}

/** When the next email is due; null if none is waiting. */
export async function nextMailAt(outbox: Outbox): Promise<Date | null> {
  return outbox.db.oneFirst(sql.type(AtRow)`
    select min(next_attempt_at) "at" from ${tableOf(outbox)} where ${isOwn(outbox)} and status = 'pending'`);
}

/** When the last email of a kind was sent to an address, or is due; null if there was none. */
export async function lastMailAt(
  outbox: Outbox,
  recipient: string,
  template: MailTemplate,
): Promise<Date | null> {
  return outbox.db.oneFirst(sql.type(AtRow)`
    select max(coalesce(sent_at, next_attempt_at)) "at" from ${tableOf(outbox)}
    where ${isOwn(outbox)} and recipient = ${recipient} and template = ${template}`);
}

const AgencyIdRow = z.object({ agencyId: z.string() });

/** Agencies with overdue emails, because a crash prevented the signal after a commit. */
export async function overdueAgencyOutboxes(db: SystemDb): Promise<string[]> {
  const ids = await db.anyFirst(sql.type(AgencyIdRow)`
    select distinct agency_id from agency_mails
    where status = 'pending' and next_attempt_at < now() - ${GRACE}`);
  return [...ids];
}

export type MailResult =
  | { status: 'sent' }
  | { status: 'failed'; error: string }
  | { status: 'pending'; error: string; retryAt: Date };

export async function finishMail(outbox: Outbox, id: string, result: MailResult, now: Date): Promise<void> {
  await outbox.db.query(sql.type(NoRows)`
    update ${tableOf(outbox)} set status = ${result.status}, attempt_count = attempt_count + 1,
      error = ${'error' in result ? result.error : null},
      sent_at = ${result.status === 'sent' ? sql.timestamp(now) : null},
      next_attempt_at = ${sql.timestamp('retryAt' in result ? result.retryAt : now)}
    where ${isOwn(outbox)} and id = ${id} and status = 'pending'`);
}
