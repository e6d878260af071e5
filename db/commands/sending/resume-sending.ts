import { sql } from 'slonik';
import { z } from 'zod';
import { wakeLines } from '#db/commands/campaigns/campaign-entry.ts';
import type { TenantDb } from '#db/transactions.ts';

const LineIdRow = z.object({ lineId: z.string() });

/** Wakes all lines of a workspace whose subscription is no longer past due. */
export async function resumeSending(db: TenantDb, now: Date): Promise<void> {
  const lines = await db.any(sql.type(LineIdRow)`
    select id line_id from lines where workspace_id = ${db.workspaceId}`);
  wakeLines(
    db,
    lines.map(({ lineId }) => ({ lineId, scheduledAt: now })),
  );
}
