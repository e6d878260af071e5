import { sql } from 'slonik';
import { z } from 'zod';
import { circuitAt } from '#domain/sending/circuit.ts';
import type { PacedLine, UsedUp } from '#domain/sending/holds.ts';
import { isFailing, type WaitingLine } from '#domain/sending/why-it-waits.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { callHistories, lastCallAt, lastFailure } from './call-history.ts';
import { LineRow, pacedLine } from '../lines/lines.ts';
import { type WorkspacePace, workspacePace } from '../accounts/workspaces.ts';

/** Older calls say nothing about the carrier's current state. */
const CALLS_COUNT_MS = 24 * 3_600_000;

/** A line as its messages wait for it, with its carrier. */
export interface LinePace extends WaitingLine {
  carrier: string;
}

const SendingRow = LineRow.extend({ lastSentAt: z.date().nullable() });

/** Those of the lines that belong to the workspace, by id. */
export async function findPacedLines(
  db: TenantDb,
  lineIds: readonly string[],
  now: Date,
  workspace?: WorkspacePace,
): Promise<Map<string, LinePace>> {
  if (lineIds.length === 0) return new Map();
  const rows = await db.any(sql.type(SendingRow)`
    select l.*, ${lastCallAt(db.workspaceId, sql.fragment`l.id`)} last_sent_at
    from lines l where l.workspace_id = ${db.workspaceId} and l.id = any(${sql.array([...lineIds], 'text')})`);
  const paced = await paceLines(db, rows, now, workspace);
  return new Map(
    rows.map(({ id, lastSentAt, carrier }, index) => [
      id,
      { ...(paced[index] as PacedLine), lastSentAt, carrier },
    ]),
  );
}

/** A line with what the rules need to know about its workspace and carrier. */
export async function loadPacedLine(db: TenantDb, row: LineRow, now: Date): Promise<PacedLine> {
  const [line] = await paceLines(db, [row], now);
  return line as PacedLine;
}

async function paceLines(
  db: TenantDb,
  rows: readonly LineRow[],
  now: Date,
  given?: WorkspacePace,
): Promise<PacedLine[]> {
  const workspace = given ?? (await workspacePace(db));
  const { pastDue, suspended, quiet, persons } = workspace;
  const calls = await callHistories(
    db,
    rows.map(({ id }) => id),
    { since: new Date(now.getTime() - CALLS_COUNT_MS), now },
  );
  const lines: PacedLine[] = [];
  for (const row of rows) {
    const history = calls.get(row.id);
    const line = {
      ...pacedLine(row, workspace, now),
      pastDue,
      suspended,
      quiet,
      persons,
      ...(history && { circuit: circuitAt(history, now) }),
    };
    lines.push(isFailing(line) ? { ...line, lastFailure: await lastFailure(db, row.id, now) } : line);
  }
  return lines;
}

/** Stores which caps are used up. Requires `lockLine`. */
export async function setUsedUp(db: TenantDb, lineId: string, usedUp: UsedUp): Promise<void> {
  const at = (end: Date | null) => (end === null ? sql.fragment`null` : sql.timestamp(end));
  // `updated_at` stays, because no setting changes.
  await db.query(sql.type(NoRows)`
    update lines set hourly_new_used_up = ${at(usedUp.hourlyNew)}, daily_new_used_up = ${at(usedUp.dailyNew)},
      daily_total_used_up = ${at(usedUp.dailyTotal)}
    where workspace_id = ${db.workspaceId} and id = ${lineId}`);
}
