import { emitEvents } from '#db/commands/events/events.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/** @param error the text of the check, or the carrier's. */
export const emitLineDown = (
  db: TenantDb,
  lineId: string,
  { reason, error }: { reason: 'line_down' | 'carrier_pause'; error: string | null },
  now: Date,
): Promise<void> => emitEvents(db, [{ event: 'line.down', ...headOf(db, now), lineId, reason, error }], now);

export const emitLineUp = (db: TenantDb, lineId: string, now: Date): Promise<void> =>
  emitEvents(db, [{ event: 'line.up', ...headOf(db, now), lineId }], now);

const headOf = (db: TenantDb, now: Date) => ({ timestamp: now.toISOString(), workspaceId: db.workspaceId });
