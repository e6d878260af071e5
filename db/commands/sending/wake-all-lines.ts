import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/transactions.ts';
import { wake } from '#db/wakes.ts';
import { linePacerId } from '#workflows/messages/wake.ts';

const LineIdRow = z.object({ lineId: z.string() });

/** Wakes all lines of a workspace whose subscription became past due, or no longer is. */
export async function wakeAllLines(db: TenantDb, now: Date): Promise<void> {
  const lines = await db.any(sql.type(LineIdRow)`
    select id line_id from lines where workspace_id = ${db.workspaceId}`);
  for (const { lineId } of lines) wake(db, linePacerId(lineId), now, 'lineChanged');
}
