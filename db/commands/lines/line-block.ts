import { sql } from 'slonik';
import type { MailSeal } from '#db/commands/events/mails.ts';
import { lastFailure, refusedInARow } from '#db/queries/sending/call-history.ts';
import type { LineRow } from '#db/queries/lines/lines.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { REFUSALS_TO_OPEN } from '#domain/sending/circuit.ts';
import type { PacedLine } from '#domain/sending/holds.ts';
import { notifyLineDown } from './line-emails.ts';
import { emitLineDown, emitLineUp } from './line-events.ts';

const DAY_MS = 24 * 3_600_000;

/**
 * Records since when a line is blocked because its carrier takes nothing, and tells its workspace when that begins and ends. A
 * failure that may be over at the next trial is not told. Requires `lockLine`.
 * @param seal encrypts an email; without it, none is written.
 */
export async function recordBlock(
  db: TenantDb,
  row: LineRow,
  { circuit, down }: PacedLine,
  seal: Pick<MailSeal, 'seal'> | undefined,
  now: Date,
): Promise<void> {
  const isOpen = circuit !== undefined && circuit.state !== 'closed';
  if (isOpen === (row.blockedAt !== null)) return;
  if (!isOpen) return unblock(db, row, now);
  if (circuit.trials === 0 && !(await refusesAll(db, row.id, now))) return;
  await setBlocked(db, row.id, now);
  if (down) return;
  const error = await lastFailure(db, row.id, now);
  await emitLineDown(db, row.id, { reason: 'carrier_pause', error }, now);
  if (seal) await notifyLineDown(db, row, error, seal, now);
}

/** Ends the block of a line, if there is one. Requires `lockLine`. */
export async function unblock(db: TenantDb, row: LineRow, now: Date): Promise<void> {
  if (row.blockedAt === null) return;
  await setBlocked(db, row.id, null);
  if (row.healthStatus !== 'down') await emitLineUp(db, row.id, now);
}

const refusesAll = async (db: TenantDb, lineId: string, now: Date): Promise<boolean> =>
  (await refusedInARow(db, lineId, new Date(now.getTime() - DAY_MS))) >= REFUSALS_TO_OPEN;

async function setBlocked(db: TenantDb, lineId: string, at: Date | null): Promise<void> {
  await db.query(sql.type(NoRows)`
    update lines set blocked_at = ${at && sql.timestamp(at)} where workspace_id = ${db.workspaceId} and id = ${lineId}`);
}
