import { sql } from 'slonik';
import { currentTime } from '#domain/base/clock.ts';
import {
  advanceLineRequest,
  type InvoiceStatus,
  type LineRequestEvent,
  type LineRequestState,
} from '#domain/lines/line-request-state.ts';
import {
  findLineRequest,
  lockLineRequest,
  storeInvoices,
  type StoredLineRequest,
} from '#db/queries/lines/line-requests.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import type { SignalName } from '#workflows/protocol/signals.ts';
import { lineRequestId } from '#workflows/protocol/workflow-ids.ts';

export interface LineRequestChange {
  request: StoredLineRequest;
  /**
   * `applied`: the event is allowed in the request's state. It may have changed nothing, for example if the payment
   * provider sent it again. `not_allowed`: it is not allowed in that state. `other_invoice`: it is about an invoice that the
   * request does not have.
   */
  outcome: 'applied' | 'not_allowed' | 'other_invoice';
}

/** The provider's data of an invoice. */
interface InvoiceDetails {
  id: string;
  paymentUrl: string | null;
}

/** The signal to the request's workflow. Steps of the workflow itself, and of the API on its behalf, are work that is due. */
const SIGNAL_OF = {
  invoice_opened: 'stepDue',
  invoice_paid: 'paymentSettled',
  invoice_voided: 'stepDue',
  payment_failed: 'paymentSettled',
  invoice_credited: 'stepDue',
  included: 'planChanged',
  cancel: 'cancelRequested',
  activated: 'stepDue',
  refused: 'stepDue',
  retry: 'retryRequested',
} as const satisfies Record<LineRequestEvent['type'], SignalName>;

/**
 * Applies an event to a line request. All changes of its state go through here: it locks the line, runs the state
 * machine and wakes the workflow.
 * @returns null if there is no such line.
 */
export async function changeLineRequest(
  db: TenantDb,
  id: string,
  event: LineRequestEvent,
  { invoice, failureReason }: { invoice?: InvoiceDetails; failureReason?: string } = {},
): Promise<LineRequestChange | null> {
  const request = await lockLineRequest(db, id);
  if (!request) return null;
  const before = stateOf(request);
  const after = advanceLineRequest(before, event);
  if (!after) return { request, outcome: 'not_allowed' };
  if (invoice && 'round' in event) {
    const known = request.invoices.find(({ round }) => round === event.round);
    if (!known || (known.invoiceId !== null && known.invoiceId !== invoice.id))
      return { request, outcome: 'other_invoice' };
    await db.query(sql.type(NoRows)`
      update line_invoices set invoice_id = ${invoice.id}, payment_url = coalesce(${invoice.paymentUrl}, payment_url)
      where workspace_id = ${db.workspaceId} and line_id = ${id} and round = ${event.round}`);
  } else if (after === before) return { request, outcome: 'applied' };
  await storeInvoices(db, id, after.invoices);
  await db.query(sql.type(NoRows)`
    update lines l set provisioning_status = ${after.status}, payment_status = ${after.paymentStatus},
      request_round = ${after.round}, updated_at = now(), failure_reason = case when ${after.status} = 'failed' then coalesce(${failureReason ?? null}, failure_reason) end,
      payment_provider_invoice_id = i.invoice_id,
      payment_link_url = case when i.status in ('void_due', 'void') then null else i.payment_url end
    from (select) one left join line_invoices i
      on i.workspace_id = ${db.workspaceId} and i.line_id = ${id} and i.round = ${after.round}
    where l.workspace_id = ${db.workspaceId} and l.id = ${id}`);
  wake(db, lineRequestId(id), currentTime(), SIGNAL_OF[event.type]);
  const changed = await findLineRequest(db, id);
  return changed && { request: changed, outcome: 'applied' };
}

function stateOf({
  provisioningStatus,
  paymentStatus,
  requestRound,
  invoices,
}: StoredLineRequest): LineRequestState {
  return {
    status: provisioningStatus,
    paymentStatus,
    round: requestRound,
    invoices: Object.fromEntries(
      invoices.map(({ round, status }): [number, InvoiceStatus] => [round, status]),
    ),
  };
}
