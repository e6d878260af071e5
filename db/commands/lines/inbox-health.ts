import { sql } from 'slonik';
import { z } from 'zod';
import type { MailSeal } from '#db/commands/events/mails.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { isInboxUnhealthy } from '#domain/lines/inbox-health.ts';
import { notifyInboxUnreadable } from './line-emails.ts';

/**
 * Records that the mailbox of a line was read.
 * @param at null: the line has none any more.
 * @returns whether it could not be read before.
 */
export async function recordInboxRead(db: TenantDb, lineId: string, at: Date | null): Promise<boolean> {
  await db.query(sql.type(NoRows)`
    update line_inboxes set read_at = ${at && sql.timestamp(at)}
    where workspace_id = ${db.workspaceId} and line_id = ${lineId}`);
  return recordRepliesArrive(db, lineId);
}

/**
 * Records that replies to a line arrive.
 * @returns whether they did not before.
 */
export async function recordRepliesArrive(db: TenantDb, lineId: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update lines set inbox_failing_since = null, inbox_failure = null, inbox_notified_at = null
    where workspace_id = ${db.workspaceId} and id = ${lineId} and inbox_failing_since is not null`);
  return rowCount > 0;
}

/**
 * Records whether the carrier of a line reports replies to it.
 * @param failure why it does not; null: it does.
 * @returns whether that has changed.
 */
export async function recordReporting(
  db: TenantDb,
  { id, inboxFailingSince }: { id: string; inboxFailingSince: Date | null },
  failure: string | null,
  { seal, now }: { seal: Pick<MailSeal, 'seal'>; now: Date },
): Promise<boolean> {
  if (failure === null) return recordRepliesArrive(db, id);
  return (await recordInboxFailure(db, id, { failure, seal, now })) !== null && inboxFailingSince === null;
}

const FailingRow = z.object({ inboxFailingSince: z.date(), inboxNotifiedAt: z.date().nullable() });

/**
 * Records that replies to a line do not arrive: its mailbox cannot be read, or its carrier does not report them. After ten minutes the team is told, once.
 * @returns since when.
 */
export async function recordInboxFailure(
  db: TenantDb,
  lineId: string,
  { failure, seal, now }: { failure: string; seal: Pick<MailSeal, 'seal'>; now: Date },
): Promise<Date | null> {
  const failing = await db.maybeOne(sql.type(FailingRow)`
    update lines set inbox_failing_since = coalesce(inbox_failing_since, ${sql.timestamp(now)}), inbox_failure = ${failure}
    where workspace_id = ${db.workspaceId} and id = ${lineId}
    returning inbox_failing_since, inbox_notified_at`);
  if (!failing) return null;
  const since = failing.inboxFailingSince;
  if (failing.inboxNotifiedAt !== null || !isInboxUnhealthy(since, now)) return since;
  const line = await findLine(db, lineId);
  if (line) await notifyInboxUnreadable(db, line, { since, reason: failure }, seal, now);
  await db.query(sql.type(NoRows)`
    update lines set inbox_notified_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and id = ${lineId}`);
  return since;
}
