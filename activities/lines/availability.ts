import { followLeadChanges } from '#db/commands/campaigns/lead-changes.ts';
import { countResult, findJob, storeAvailability } from '#db/queries/lines/availability.ts';
import { checkAddress } from '#db/commands/lines/check-address.ts';
import { findLeads } from '#db/queries/contacts/leads.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import { currentTime } from '#domain/base/clock.ts';
import type { AvailabilityResult } from '#domain/lines/availability.ts';
import { askCarrier } from '#providers/carriers/line-carrier.ts';
import { availabilityJobId } from '#workflows/protocol/workflow-ids.ts';
import type { Round } from '#workflows/protocol/round.ts';
import type { Dependencies } from '../dependencies.ts';
import { withHeartbeat } from '../base/heartbeat.ts';
import { decideToEnd, dueNow, roundOf } from '../base/round.ts';

const ROUND_MS = 2 * 60_000;

export function createAvailabilityActivities(dependencies: Dependencies) {
  const { pools } = dependencies;

  /** @returns false if another worker has counted this lead already. */
  async function checkLead(
    workspace: { id: string; timezone: string },
    { jobId, index, leadId }: { jobId: string; index: number; leadId: string },
  ): Promise<boolean> {
    const lead = await withTenant(pools, workspace.id, async (db) =>
      (await findLeads(db, [leadId])).get(leadId),
    );
    const address = lead?.phones[0] ?? lead?.emails[0];
    const result: AvailabilityResult =
      address === undefined
        ? { status: 'error', lineId: null }
        : await checkAddress(pools, workspace, address, askCarrier(dependencies), { cached: true });
    return withTenant(pools, workspace.id, async (db) => {
      if (lead) {
        await storeAvailability(db, leadId, result);
        await followLeadChanges(db, [leadId], currentTime());
      }
      return countResult(db, jobId, index, result.status);
    });
  }

  return {
    /** Checks the remaining leads of a job, in order. The next round continues after the last one checked. */
    async checkLeads({ workspaceId, jobId }: { workspaceId: string; jobId: string }): Promise<Round> {
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + ROUND_MS;
        const timezone = await withTenant(pools, workspaceId, workspaceTimezone);
        const job = await withTenant(pools, workspaceId, (db) => findJob(db, jobId));
        let index = job?.checked ?? 0;
        for (const leadId of job?.leadIds.slice(index) ?? []) {
          const isOver = canceled.aborted || Date.now() > end;
          // A round whose heartbeats were lost runs on beside its retry. The next one continues after both.
          if (isOver || !(await checkLead({ id: workspaceId, timezone }, { jobId, index, leadId })))
            return roundOf(dueNow('there are more leads to check'));
          index += 1;
        }
        return decideToEnd(pools, workspaceId, availabilityJobId(jobId), 'all leads are checked');
      });
    },
  };
}
