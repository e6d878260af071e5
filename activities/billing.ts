import { awaitedInvoice, lineInvoices, owedInvoices } from '#db/commands/billing/line-invoices.ts';
import { type Decision, decide } from '#db/decisions.ts';
import { findLineRequest, type StoredLineRequest } from '#db/queries/line-requests.ts';
import { NO_CARRIER } from '#domain/line.ts';
import { withTenant } from '#db/transactions.ts';
import { PaymentsUnavailable } from '#domain/payments.ts';
import type { LineRequestView } from '#workflows/messages/line-request.ts';
import type { Order, RequestVerdict } from '#workflows/messages/updates.ts';
import { lineRequestId } from '#workflows/messages/wake.ts';
import type { Dependencies } from './dependencies.ts';
import { record, refusal } from './order.ts';

interface RequestedLine {
  workspaceId: string;
  lineId: string;
}

/** Longer than a step takes when all goes well; one more signal does no harm to a step that takes longer. */
const STEP_MS = 60_000;
/** The provider tells of every payment by itself: asking is for callbacks that were lost. */
const CHECK_EVERY_MS = 6 * 3_600_000;

export function createBillingActivities({ pools, payments }: Dependencies) {
  const invoicesOf = ({ workspaceId, lineId }: RequestedLine) =>
    lineInvoices({ pools, payments }, workspaceId, lineId);

  return {
    /** Reads what a line request needs now, and brings it up to date with the latest subscription. */
    async lookAtLineRequest(line: RequestedLine): Promise<LineRequestView> {
      const { workspaceId, lineId } = line;
      await invoicesOf(line).reconcile();
      const { view, nextAt } = await decide(pools, workspaceId, lineRequestId(lineId), async (db) => {
        const view = viewOf(await findLineRequest(db, lineId));
        return { view, ...nextLook(view, new Date()) };
      });
      const isChanged = nextAt !== null && nextAt.getTime() <= Date.now();
      return { ...view, ...(isChanged && { isChanged }) };
    },

    /** Makes, voids and credits invoices as they are owed, and asks about the one that is waited for. */
    async settleLineInvoices(line: RequestedLine): Promise<void> {
      await invoicesOf(line).settleAll();
      await invoicesOf(line).check();
    },

    /** For an operator: asks the payment provider at once. */
    async checkLinePayment({
      workspaceId,
      lineId,
      ...order
    }: RequestedLine & Order): Promise<RequestVerdict> {
      const line = { workspaceId, lineId };
      const request = await withTenant(pools, workspaceId, (db) => findLineRequest(db, lineId));
      if (!request) throw refusal('NOT_FOUND', 'There is no such request');
      const { provisioningStatus: before } = request;
      if (before !== 'awaiting_payment')
        throw refusal('INVALID_STATE', `A request that is ${before} waits for no payment`);
      try {
        await invoicesOf(line).settleAll();
        await invoicesOf(line).check();
      } catch (error) {
        if (!(error instanceof PaymentsUnavailable)) throw error;
        throw refusal('UNAVAILABLE', 'The payment provider does not answer');
      }
      return withTenant(pools, workspaceId, async (db) => {
        await record(db, order, 'line_request.payment_checked', { type: 'line_request', id: lineId });
        return { lineId, status: (await findLineRequest(db, lineId))?.provisioningStatus ?? before };
      });
    },

    async addLineToAgencyInvoice(line: RequestedLine): Promise<void> {
      await invoicesOf(line).addToAgencyInvoice();
    },
  };
}

function viewOf(request: StoredLineRequest | null): LineRequestView {
  if (!request) return { status: 'canceled', owes: false };
  const { provisioningStatus: status, carrier } = request;
  const owes = owedInvoices(request).length > 0 || isStale(request);
  if (carrier === NO_CARRIER) return { status: status === 'provisioning' ? 'unconnected' : status, owes };
  return { status, owes, carrier };
}

/** When the sweep is to wake the workflow unless it has looked by itself: it may have been terminated at any step. */
function nextLook({ status, owes }: LineRequestView, now: Date): Decision {
  const within = (ms: number) => ({ nextAt: new Date(now.getTime() + ms) });
  if (owes || status === 'provisioning') return within(STEP_MS);
  if (status === 'awaiting_payment') return within(CHECK_EVERY_MS + STEP_MS);
  return { nextAt: null, ended: status !== 'unconnected' };
}

function isStale(request: StoredLineRequest): boolean {
  const awaited = awaitedInvoice(request);
  return (
    awaited !== null &&
    (awaited.checkedAt === null || Date.now() - awaited.checkedAt.getTime() >= CHECK_EVERY_MS)
  );
}
