import { currentTime } from '#domain/base/clock.ts';
import { awaitedInvoice, lineInvoices, invoicesToSettle } from '#db/commands/billing/line-invoices.ts';
import { type Decision, decide } from '#db/wakes/decisions.ts';
import { findLineNumber, type LineNumber } from '#db/queries/lines/line-numbers.ts';
import { findLineRequest, type StoredLineRequest } from '#db/queries/lines/line-requests.ts';
import { NO_CARRIER } from '#domain/lines/line.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import { lastMovedTo } from '#db/commands/lines/line-moves.ts';
import { PaymentsUnavailable } from '#domain/billing/payments.ts';
import { CHECK_EVERY_MS, type LineRequestView } from '#workflows/protocol/line-request.ts';
import type { Order, RequestVerdict } from '#workflows/protocol/updates.ts';
import { lineRequestId } from '#workflows/protocol/workflow-ids.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RequestedLine } from './line-requests.ts';
import { carryOut, record, refusal } from '../base/order.ts';

/** Longer than a step usually takes. An extra signal does no harm to a step that takes longer. */
const STEP_MS = 60_000;

export function createLineInvoiceActivities({ pools, payments }: Dependencies) {
  const invoicesOf = ({ workspaceId, lineId }: RequestedLine) =>
    lineInvoices({ pools, payments }, workspaceId, lineId);

  /** Creates, voids and credits invoices as required, and reads the one that awaits payment. */
  async function settleLineInvoices(line: RequestedLine): Promise<void> {
    await invoicesOf(line).settleAll();
    await invoicesOf(line).check();
  }

  return {
    /** Reconciles a line request with the current subscription. @returns what it needs next. */
    async lookAtLineRequest(line: RequestedLine): Promise<LineRequestView> {
      const { workspaceId, lineId } = line;
      const home = await lastMovedTo(systemDb(pools), lineId);
      if (home !== null && home !== workspaceId) return { ...viewOf(null, null), home };
      await invoicesOf(line).reconcile();
      const { view, nextAt } = await decide(pools, workspaceId, lineRequestId(lineId), async (db) => {
        const request = await findLineRequest(db, lineId);
        const number = await findLineNumber(db, lineId);
        const view = explained(viewOf(request, number));
        return { view, ...nextLook(view, currentTime()) };
      });
      const isChanged = nextAt !== null && nextAt.getTime() <= currentTime().getTime();
      return { ...view, ...(isChanged && { isChanged }) };
    },

    settleLineInvoices,

    /** Reads the open invoice from the payment provider now, for an operator. */
    async checkLinePayment({
      workspaceId,
      lineId,
      ...order
    }: RequestedLine & Order): Promise<RequestVerdict> {
      const request = await carryOut(pools, workspaceId, order, (db) => findLineRequest(db, lineId));
      if (!request) throw refusal('NOT_FOUND', 'There is no such request');
      const { provisioningStatus: before } = request;
      if (before !== 'awaiting_payment')
        throw refusal('INVALID_STATE', `A request that is ${before} does not await payment`);
      try {
        await settleLineInvoices({ workspaceId, lineId });
      } catch (error) {
        if (!(error instanceof PaymentsUnavailable)) throw error;
        throw refusal('UNAVAILABLE', 'The payment provider is unavailable');
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

function viewOf(request: StoredLineRequest | null, number: LineNumber | null): LineRequestView {
  const isGivenUp = !request || ['failed', 'canceled'].includes(request.provisioningStatus);
  const releases = isGivenUp && number !== null && { releases: true };
  if (!request) return { status: 'canceled', owes: false, ...releases };
  const { provisioningStatus: status, carrier } = request;
  const owes = invoicesToSettle(request).length > 0 || isStale(request);
  if (carrier === NO_CARRIER)
    return { status: status === 'provisioning' ? 'unconnected' : status, owes, ...releases };
  return { status, owes, carrier, ...releases };
}

const explained = (view: LineRequestView): LineRequestView => ({
  ...view,
  reason: `the request is ${view.status}${view.owes ? ', and its invoices are to be settled' : ''}`,
});

/** When the sweep wakes the workflow if it has not looked by then, because it may be terminated at any step. */
function nextLook({ status, owes, releases }: LineRequestView, now: Date): Decision {
  const within = (ms: number) => ({ nextAt: new Date(now.getTime() + ms) });
  if (owes || releases || status === 'provisioning') return within(STEP_MS);
  if (status === 'awaiting_payment') return within(CHECK_EVERY_MS + STEP_MS);
  return { nextAt: null, ended: status !== 'unconnected' };
}

function isStale(request: StoredLineRequest): boolean {
  const awaited = awaitedInvoice(request);
  return (
    awaited !== null &&
    (awaited.checkedAt === null || currentTime().getTime() - awaited.checkedAt.getTime() >= CHECK_EVERY_MS)
  );
}
