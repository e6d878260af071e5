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
  const { rowCount } = await db.query(sql.type(NoRows)`
    update lines set inbox_failing_since = null, inbox_failure = null, inbox_notified_at = null
    where workspace_id = ${db.workspaceId} and id = ${lineId} and inbox_failing_since is not null`);
  return rowCount > 0;
}

const FailingRow = z.object({ inboxFailingSince: z.date(), inboxNotifiedAt: z.date().nullable() });

/**
 * Records that the mailbox of a line cannot be read. After ten minutes the team is told, once.
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
