import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';

const OverviewRow = z.object({
  running: z.int(),
  requireConsent: z.int(),
  ownQuietHours: z.int(),
  suspectedOptOuts: z.int(),
  suppressions: z.int(),
});

/** How many campaigns follow which rules, how many opt-outs are suspected, and how many addresses the agency suppresses. */
export async function complianceOverview(db: TenantDb): Promise<z.infer<typeof OverviewRow>> {
  const { workspaceId } = db;
  return db.one(sql.type(OverviewRow)`
    select count(*) running, count(*) filter (where require_consent) require_consent,
      count(quiet_hours) own_quiet_hours,
      (select count(*) from opt_out_suspicions where workspace_id = ${workspaceId} and status = 'open') suspected_opt_outs,
      suppression_count() suppressions
    from campaigns where workspace_id = ${workspaceId} and status in ('active', 'paused') and deleted_at is null`);
}
