import { sql } from 'slonik';
import { z } from 'zod';
import type { LineRow } from '#db/queries/lines/lines.ts';
import { type MailSeal, queueMail } from '#db/commands/events/mails.ts';
import { NameRow } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

const EmailRow = z.object({ email: z.string() });

/**
 * Emails the owner and the admins that a line went down, unless the line's notifications are off.
 * @param reason the text of the check, or the carrier's.
 * @returns whether any email was queued.
 */
export async function notifyLineDown(
  db: TenantDb,
  line: LineRow,
  reason: string | null,
  seal: Pick<MailSeal, 'seal'>,
  now: Date,
): Promise<boolean> {
  const { workspaceName, lineName, recipients } = await lineEmail(db, line);
  for (const to of recipients) {
    const data = { workspaceName, lineName, since: now.toISOString(), ...(reason !== null && { reason }) };
    // One email each time the line goes down.
    const dedupeKey = `line-down:${line.id}:${now.toISOString()}:${to}`;
    await queueMail(db, { to, template: 'lineDown', data, dedupeKey }, seal, now);
  }
  return recipients.length > 0;
}

/** Emails the same users that the mailbox of the line cannot be read. */
export async function notifyInboxUnreadable(
  db: TenantDb,
  line: LineRow,
  { since, reason }: { since: Date; reason: string },
  seal: Pick<MailSeal, 'seal'>,
  now: Date,
): Promise<void> {
  const { workspaceName, lineName, recipients } = await lineEmail(db, line);
  for (const to of recipients) {
    const data = { workspaceName, lineName, since: since.toISOString(), reason };
    const dedupeKey = `inbox-unreadable:${line.id}:${since.toISOString()}:${to}`;
    await queueMail(db, { to, template: 'inboxUnreadable', data, dedupeKey }, seal, now);
  }
}

/** Emails the same users that the line's reputation is poor. */
export async function notifyReputation(
  db: TenantDb,
  line: LineRow,
  judged: { state: 'at_risk' | 'critical'; score: number; reasons: string[] },
  seal: Pick<MailSeal, 'seal'>,
  now: Date,
): Promise<void> {
  const { workspaceName, lineName, recipients } = await lineEmail(db, line);
  for (const to of recipients) {
    const data = { workspaceName, lineName, ...judged };
    const dedupeKey = `line-reputation:${line.id}:${now.toISOString()}:${to}`;
    await queueMail(db, { to, template: 'lineReputation', data, dedupeKey }, seal, now);
  }
}

/** The recipients of emails about a line (none if its notifications are off), and its name and workspace for the text. */
async function lineEmail(
  db: TenantDb,
  line: LineRow,
): Promise<{ workspaceName: string; lineName: string; recipients: readonly string[] }> {
  const lineName = [`${line.firstName} ${line.lastName}`.trim(), line.phone ?? line.email ?? '']
    .filter(Boolean)
    .join(', ');
  if (!line.lineDownNotifications) return { workspaceName: '', lineName, recipients: [] };
  const { name: workspaceName } = await db.one(sql.type(NameRow)`
    select name from workspaces where id = ${db.workspaceId}`);
  const recipients = await db.anyFirst(sql.type(EmailRow)`
    select email from current_team()
    where (role = 'org:admin' or is_owner) and position('@' in email) > 0 order by joined_at, user_id`);
  return { workspaceName, lineName, recipients };
}
