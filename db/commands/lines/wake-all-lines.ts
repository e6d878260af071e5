import { sql } from 'slonik';
import { LineIdRow } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

/** Wakes all lines of a workspace after a change of what their pacers have planned with. */
export async function wakeAllLines(db: TenantDb, now: Date): Promise<void> {
  const lines = await db.any(sql.type(LineIdRow)`
    select id line_id from lines where workspace_id = ${db.workspaceId}`);
  for (const { lineId } of lines) wake(db, linePacerId(lineId), now, 'lineChanged');
}
