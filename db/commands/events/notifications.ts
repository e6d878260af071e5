import { sql } from 'slonik';
import { z } from 'zod';
import {
  isPositive,
  kindOf,
  mentionDueAt,
  nextDigest,
  type Notice,
  NotificationKind,
  replyDueAt,
} from '#domain/events/notification.ts';
import { notifierId } from '#workflows/protocol/workflow-ids.ts';
import { findEmailPreferences } from '#db/queries/events/email-preferences.ts';
import { AtRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { lastMailAt, workspaceOutbox } from './mails.ts';
import { workspaceTimezone } from '#db/queries/accounts/workspaces.ts';

/**
 * Queues a notification in the transaction of its cause, unless the workspace turned such emails off. A second
 * notification of the same subject replaces one whose email is not written yet.
 */
export async function notify(
  db: TenantDb,
  subject: string,
  notice: Notice,
  now: Date,
  dueAt: Date = now,
): Promise<void> {
  const kind = kindOf(notice);
  const preferences = await findEmailPreferences(db);
  if (!preferences[kind].enabled) return;
  if (notice.about === 'payment_failed' && (await isInvoiced(db))) return;
  await db.query(sql.type(NoRows)`
    insert into notifications (workspace_id, kind, subject, data, since, due_at)
    values (${db.workspaceId}, ${kind}, ${subject}, ${sql.jsonb(notice)}, ${sql.timestamp(now)}, ${sql.timestamp(dueAt)})
    on conflict (workspace_id, kind, subject) do update
      set data = excluded.data, due_at = least(notifications.due_at, excluded.due_at)`);
  wakeNotifier(db, dueAt);
}

/** Tells a member that a note mentions them. Several notes within minutes are one email. */
export async function notifyMention(
  db: TenantDb,
  { noteId, userId, email }: { noteId: string; userId: string; email: string },
  now: Date,
): Promise<void> {
  const dueAt = mentionDueAt(await lastMailAt(workspaceOutbox(db), email, 'notice'), now);
  await notify(db, `note:${noteId}:${userId}`, { about: 'mentioned', noteId, userId }, now, dueAt);
}

/**
 * Adds a campaign to the next digest. If it completes before, its completion replaces the entry.
 */
export async function notifyProgress(db: TenantDb, campaignId: string, now: Date): Promise<void> {
  if (!(await findEmailPreferences(db)).campaign.enabled) return;
  const notice: Notice = { about: 'campaign_progress', campaignId };
  const dueAt = nextDigest(await workspaceTimezone(db), now);
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into notifications (workspace_id, kind, subject, data, since, due_at)
    values (${db.workspaceId}, 'campaign', ${campaignId}, ${sql.jsonb(notice)}, ${sql.timestamp(now)}, ${sql.timestamp(dueAt)})
    on conflict (workspace_id, kind, subject) do nothing`);
  if (rowCount > 0) wakeNotifier(db, dueAt);
}

const InvoicedRow = z.object({ invoiced: z.boolean() });

/** Clients of an agency with invoice billing are not notified of failed payments. */
async function isInvoiced(db: TenantDb): Promise<boolean> {
  return db.oneFirst(sql.type(InvoicedRow)`
    select current_billing_mode() = 'invoice' invoiced`);
}

const SinceRow = z.object({ since: z.date() });

/** Schedules the alert for a reply, if the workspace's preferences allow it. */
export async function notifyReply(db: TenantDb, address: string, now: Date): Promise<void> {
  const { enabled, mode } = (await findEmailPreferences(db)).reply;
  if (!enabled) return;
  const pending = await db.maybeOneFirst(sql.type(SinceRow)`
    select since from notifications where workspace_id = ${db.workspaceId} and kind = 'reply' and subject = ${address}`);
  const zone = await workspaceTimezone(db);
  const positive = mode === 'positive_only' && (await isPositiveConversation(db, address));
  const dueAt = replyDueAt(mode, { since: pending ?? now, now, zone, positive });
  await db.query(sql.type(NoRows)`
    insert into notifications (workspace_id, kind, subject, since, due_at)
    values (${db.workspaceId}, 'reply', ${address}, ${sql.timestamp(now)}, ${sql.timestamp(dueAt)})
    on conflict (workspace_id, kind, subject) do update set due_at = excluded.due_at`);
  wakeNotifier(db, dueAt);
}

/** Called when tags or a draft are added: makes an alert that waits for a positive conversation due now if it is one. */
export async function notifyPositive(db: TenantDb, address: string, now: Date): Promise<void> {
  const waits = await db.exists(sql.type(NoRows)`
    select 1 from notifications
    where workspace_id = ${db.workspaceId} and kind = 'reply' and subject = ${address} and due_at > ${sql.timestamp(now)}`);
  if (!waits || (await findEmailPreferences(db)).reply.mode !== 'positive_only') return;
  if (!(await isPositiveConversation(db, address))) return;
  await db.query(sql.type(NoRows)`
    update notifications set due_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and kind = 'reply' and subject = ${address}`);
  wakeNotifier(db, now);
}

const wakeNotifier = (db: TenantDb, at: Date): void =>
  wake(db, notifierId(db.workspaceId), at, 'notificationsDue');

const Mood = z.object({ tags: z.array(z.string()), sentiment: z.string().nullable() });

/** By tags, or by the sentiment of the last reply while its draft is open. */
export async function isPositiveConversation(db: TenantDb, address: string): Promise<boolean> {
  const mood = await db.maybeOne(sql.type(Mood)`
    select c.tags, (
      select d.sentiment from ai_drafts d
      where d.workspace_id = ${db.workspaceId} and d.address = c.address and d.status in ('waiting', 'drafted')) sentiment
    from conversations c where c.workspace_id = ${db.workspaceId} and c.address = ${address}`);
  return mood !== null && (isPositive(mood.tags) || mood.sentiment === 'positive');
}

const Row = z.object({
  kind: NotificationKind,
  subject: z.string(),
  data: z.unknown(),
  since: z.date(),
});
export type NotificationRow = z.infer<typeof Row>;

/** Removes the due notifications from the outbox; the caller writes their emails in the same transaction. */
export async function takeDue(db: TenantDb, now: Date, limit: number): Promise<NotificationRow[]> {
  const rows = await db.any(sql.type(Row)`
    delete from notifications
    where workspace_id = ${db.workspaceId} and ctid = any(array(
      select ctid from notifications
      where workspace_id = ${db.workspaceId} and due_at <= ${sql.timestamp(now)}
      order by due_at, kind, subject limit ${limit} for update
    ))
    returning kind, subject, data, since`);
  return rows.toSorted((a, b) => a.since.getTime() - b.since.getTime());
}

/** When the next notification is due; null if none is waiting. */
export async function nextNotificationAt(db: TenantDb): Promise<Date | null> {
  return db.oneFirst(sql.type(AtRow)`
    select min(due_at) "at" from notifications where workspace_id = ${db.workspaceId}`);
}

/** Turns a kind of email on or off for one user. */
export async function setMuted(
  db: TenantDb,
  userId: string,
  kind: NotificationKind,
  muted: boolean,
): Promise<void> {
  await db.query(
    muted
      ? sql.type(NoRows)`
    insert into notification_mutes (workspace_id, user_id, kind) values (${db.workspaceId}, ${userId}, ${kind})
    on conflict do nothing`
      : sql.type(NoRows)`
    delete from notification_mutes where workspace_id = ${db.workspaceId} and user_id = ${userId} and kind = ${kind}`,
  );
}

export async function isMuted(db: TenantDb, userId: string, kind: NotificationKind): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select 1 from notification_mutes where workspace_id = ${db.workspaceId} and user_id = ${userId} and kind = ${kind}`);
}
