import { lineHistory } from '#db/queries/sending/call-history.ts';
import type { LineRow } from '#db/queries/lines/lines.ts';
import { loadPacedLine, setUsedUp } from '#db/queries/sending/paced-lines.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { dayBounds, hourBounds } from '#domain/base/calendar.ts';
import { type LineHistory, type PacedLine, type UsedUp, usedUpAt } from '#domain/sending/holds.ts';

/** A line as the pacing rules see it. */
export interface LineState {
  row: LineRow;
  /** With the caps that are used up now. */
  line: PacedLine;
  /** The caps that are stored as used up. */
  stored: UsedUp;
  history: LineHistory;
  isPaused: boolean;
  /** By when the first of its open attempts, which a crash or a lost response left, is answered; null: it has none. */
  firstAnswerBy: Date | null;
}

/** Reads what the rules need to know about a line. */
export async function lineState(db: TenantDb, row: LineRow, now: Date): Promise<LineState> {
  const line = await loadPacedLine(db, row, now);
  const since = { day: dayBounds(line.timezone, now).start, hour: hourBounds(line.timezone, now).start };
  const { firstAnswerBy, ...history } = await lineHistory(db, row.id, since);
  const usedUp = usedUpAt(line, history, now);
  const isPaused = row.pausedAt !== null;
  return { row, line: { ...line, usedUp }, stored: line.usedUp, history, isPaused, firstAnswerBy };
}

/** Stores which caps are used up. The status of held messages is derived from it. */
export async function storeUsedUp(
  db: TenantDb,
  lineId: string,
  stored: UsedUp,
  usedUp: UsedUp,
): Promise<void> {
  const isStored =
    stored.hourlyNew?.getTime() === usedUp.hourlyNew?.getTime() &&
    stored.dailyNew?.getTime() === usedUp.dailyNew?.getTime() &&
    stored.dailyTotal?.getTime() === usedUp.dailyTotal?.getTime();
  if (!isStored) await setUsedUp(db, lineId, usedUp);
}
