import { awaitedInvoice, lineInvoices, owedInvoices } from '#db/commands/billing/line-invoices.ts';
import type { StoredLineRequest } from '#db/queries/line-requests.ts';
import { decide } from '#db/pool.ts';
import { NO_CARRIER } from '#domain/line.ts';
import type { LineRequestView } from '#workflows/messages/line-request.ts';
import { lineRequestId } from '#workflows/messages/wake.ts';
import type { Dependencies } from './dependencies.ts';

interface RequestedLine {
  workspaceId: string;
  lineId: string;
}

/** The provider tells of every payment by itself: asking is for callbacks that were lost. */
const CHECK_EVERY_MS = 6 * 3_600_000;

export function createBillingActivities({ pools, payments }: Dependencies) {
  const invoicesOf = ({ workspaceId, lineId }: RequestedLine) =>
    lineInvoices({ pools, payments }, workspaceId, lineId);

  return {
    /** Reads what a line request needs now, and brings it up to date with the latest subscription. */
    async lookAtLineRequest(line: RequestedLine): Promise<LineRequestView> {
      // Before the look: what changes from here on lowers it again, and signals.
      await decide(pools, line.workspaceId, lineRequestId(line.lineId), async () => ({ nextAt: null }));
      const request = await invoicesOf(line).reconcile();
      if (!request) return { status: 'canceled', owes: false };
      return {
        status:
          request.provisioningStatus === 'provisioning' && request.carrier === NO_CARRIER
            ? 'unconnected'
            : request.provisioningStatus,
        owes: owedInvoices(request).length > 0 || isStale(request),
      };
    },

    /** Makes, voids and credits invoices as they are owed, and asks about the one that is waited for. */
    async settleLineInvoices(line: RequestedLine): Promise<void> {
      await invoicesOf(line).settleAll();
      await invoicesOf(line).check();
    },

    async addLineToAgencyInvoice(line: RequestedLine): Promise<void> {
      await invoicesOf(line).addToAgencyInvoice();
    },
  };
}

function isStale(request: StoredLineRequest): boolean {
  const awaited = awaitedInvoice(request);
  return (
    awaited !== null &&
    (awaited.checkedAt === null || Date.now() - awaited.checkedAt.getTime() >= CHECK_EVERY_MS)
  );
}
