import type { InvoiceStatus } from '#domain/line-request-state.ts';
import type { Invoice, LineOrder } from '#domain/payments.ts';
import { type Billing, payingCustomer } from './billing.ts';
import {
  changeLineRequest,
  findLineRequest,
  grantFor,
  type InvoiceRow,
  lockBilling,
  markInvoiceChecked,
  type StoredLineRequest,
} from '#db/queries/line-requests.ts';
import { type TenantDb, withTenant } from '#db/transactions.ts';

const OWED: readonly InvoiceStatus[] = ['opening', 'void_due', 'credit_due'];

/** What the service still has to do at the provider for a request's invoices, oldest first. */
export const owedInvoices = ({ invoices }: StoredLineRequest): InvoiceRow[] =>
  invoices.filter(({ status }) => OWED.includes(status));

/** One request's invoices at the payment provider. Every step may be begun again after a crash. */
export function lineInvoices(billing: Billing, workspaceId: string, lineId: string) {
  const { pools, payments } = billing;
  const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> => withTenant(pools, workspaceId, work);

  async function order(request: StoredLineRequest, round: number): Promise<LineOrder> {
    const { channel, firstName, lastName } = request;
    const customerId = await payingCustomer(billing, workspaceId);
    return {
      customerId,
      workspaceId,
      lineId,
      round,
      channel,
      description: `Line (${channel}) for ${firstName} ${lastName}`,
    };
  }

  /** Takes in what the provider says of an invoice now. */
  async function learn(round: number, invoice: Invoice): Promise<void> {
    const type = { open: 'invoice_opened', paid: 'invoice_paid', void: 'invoice_voided' } as const;
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
    // One that is to be voided may have been made without our having heard: making it again finds it.
    const invoice = invoiceId === null ? await payments.openInvoice(await order(request, round)) : null;
    if (invoice) await learn(round, invoice);
    const voided = invoice?.id ?? invoiceId;
    if (status === 'void_due' && voided !== null) await learn(round, await payments.voidInvoice(voided));
  }

  return {
    /**
     * Does all that is owed.
     * @throws PaymentsUnavailable; what was done stays done.
     */
    async settleAll(): Promise<void> {
      // Voiding finds payments that are then owed back: what is owed is read anew after each step.
      for (;;) {
        const request = await tenant((db) => findLineRequest(db, lineId));
        const [owed] = request ? owedInvoices(request) : [];
        if (!request || !owed) return;
        await settle(request, owed);
      }
    },

    /** Asks the provider what became of the invoice that is waited for, in case its callback was lost. */
    async check(): Promise<void> {
      const request = await tenant((db) => findLineRequest(db, lineId));
      const awaited = request && awaitedInvoice(request);
      if (awaited?.invoiceId) await learn(awaited.round, await payments.readInvoice(awaited.invoiceId));
    },

    /**
     * Goes on with a request that waits for its payment when the latest subscription includes the line: reading a
     * request reconciles it.
     * @returns the request as it is now; null when there is none.
     */
    async reconcile(): Promise<StoredLineRequest | null> {
      return tenant(async (db) => {
        const request = await findLineRequest(db, lineId);
        if (request?.provisioningStatus !== 'awaiting_payment') return request;
        const workspace = await lockBilling(db);
        if (workspace.subscriptionStatus !== 'active') return request;
        if ((await grantFor(db, workspace, request.channel)) !== 'included') return request;
        return (await changeLineRequest(db, lineId, { type: 'included' }))?.request ?? null;
      });
    },

    /** Puts the line on the agency's next invoice (invoice billing). */
    async addToAgencyInvoice(): Promise<void> {
      const request = await tenant((db) => findLineRequest(db, lineId));
      if (request?.paymentStatus === 'invoiced')
        await payments.addToNextInvoice(await order(request, request.requestRound));
    },
  };
}

/** The open invoice that a request waits for; null when it waits for none. */
export function awaitedInvoice({
  provisioningStatus,
  requestRound,
  invoices,
}: StoredLineRequest): InvoiceRow | null {
  if (provisioningStatus !== 'awaiting_payment') return null;
  return invoices.find(({ round, status }) => round === requestRound && status === 'open') ?? null;
}
