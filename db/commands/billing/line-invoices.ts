import { mayAddLines } from '#domain/billing/entitlement.ts';
import type { InvoiceStatus } from '#domain/lines/line-request-state.ts';
import type { Invoice, LineOrder } from '#domain/billing/payments.ts';
import { type Billing, payingCustomer } from './billing.ts';
import { changeLineRequest } from './change-line-request.ts';
import {
  findLineRequest,
  grantFor,
  type InvoiceRow,
  lockBilling,
  markInvoiceChecked,
  type StoredLineRequest,
} from '#db/queries/lines/line-requests.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';

const OWED: readonly InvoiceStatus[] = ['opening', 'void_due', 'credit_due'];

/** The invoices of a request that require a call to the provider, oldest first. */
export const invoicesToSettle = ({ invoices }: StoredLineRequest): InvoiceRow[] =>
  invoices.filter(({ status }) => OWED.includes(status));

/** The invoices of one request at the payment provider. Every step is idempotent. */
export function lineInvoices(billing: Billing, workspaceId: string, lineId: string) {
  const { pools, payments } = billing;
  const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> => withTenant(pools, workspaceId, work);

  async function order(request: StoredLineRequest, round: number): Promise<LineOrder> {
    const { channel, firstName, lastName, createdAt } = request;
    const customerId = await payingCustomer(billing, workspaceId);
    return {
      customerId,
      workspaceId,
      lineId,
      round,
      requestedAt: createdAt,
      channel,
      description: `Line (${channel}) for ${firstName} ${lastName}`,
    };
  }

  /** Applies the current state of an invoice. */
  async function applyInvoice(round: number, invoice: Invoice): Promise<void> {
    const type = { paid: 'invoice_paid', void: 'invoice_voided' } as const;
    await tenant(async (db) => {
      await changeLineRequest(db, lineId, { type: 'invoice_opened', round }, { invoice });
      if (invoice.status !== 'open')
        await changeLineRequest(db, lineId, { type: type[invoice.status], round }, { invoice });
      await markInvoiceChecked(db, lineId, round);
    });
  }

  async function settle(request: StoredLineRequest, { round, status, invoiceId }: InvoiceRow): Promise<void> {
    if (status === 'credit_due' && invoiceId !== null) {
      await payments.creditInvoice(invoiceId);
      await tenant((db) => changeLineRequest(db, lineId, { type: 'invoice_credited', round }));
      return;
    }
    // An invoice to be voided may have been created although the response was lost; opening it again finds it, however late.
    const invoice = invoiceId === null ? await payments.openInvoice(await order(request, round)) : null;
    if (invoice) await applyInvoice(round, invoice);
    const voided = invoice?.id ?? invoiceId;
    if (status === 'void_due' && voided !== null)
      await applyInvoice(round, await payments.voidInvoice(voided));
  }

  return {
    /**
     * Makes all pending calls.
     * @throws PaymentsUnavailable; completed calls stay completed.
     */
    async settleAll(): Promise<void> {
      // Read again after each step, because voiding may find a payment that must then be credited.
      for (;;) {
        const request = await tenant((db) => findLineRequest(db, lineId));
        const [owed] = request ? invoicesToSettle(request) : [];
        if (!request || !owed) return;
        await settle(request, owed);
      }
    },

    /** Reads the awaited invoice from the provider, in case its callback was lost. */
    async check(): Promise<void> {
      const request = await tenant((db) => findLineRequest(db, lineId));
      const awaited = request && awaitedInvoice(request);
      if (awaited?.invoiceId)
        await applyInvoice(awaited.round, await payments.readInvoice(awaited.invoiceId));
    },

    /**
     * Continues a request that awaits payment if the plan now includes the line.
     * @returns the current request; null if there is none.
     */
    async reconcile(): Promise<StoredLineRequest | null> {
      return tenant(async (db) => {
        const request = await findLineRequest(db, lineId);
        if (request?.provisioningStatus !== 'awaiting_payment') return request;
        const workspace = await lockBilling(db);
        if (!mayAddLines(workspace)) return request;
        if ((await grantFor(db, workspace, request.channel)) !== 'included') return request;
        return (await changeLineRequest(db, lineId, { type: 'included' }))?.request ?? null;
      });
    },

    /** Adds the line to the agency's next invoice (invoice billing). */
    async addToAgencyInvoice(): Promise<void> {
      const request = await tenant((db) => findLineRequest(db, lineId));
      if (request?.paymentStatus === 'invoiced')
        await payments.addToNextInvoice(await order(request, request.requestRound));
    },
  };
}

/** The open invoice of a request that awaits payment; null if there is none. */
export function awaitedInvoice({
  provisioningStatus,
  requestRound,
  invoices,
}: StoredLineRequest): InvoiceRow | null {
  if (provisioningStatus !== 'awaiting_payment') return null;
  return invoices.find(({ round, status }) => round === requestRound && status === 'open') ?? null;
}
