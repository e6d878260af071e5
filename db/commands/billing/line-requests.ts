import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { currentTime } from '#domain/base/clock.ts';
import type { Channel } from '#domain/base/channel.ts';
import { type Grant, mayAddLines } from '#domain/billing/entitlement.ts';
import { PaymentsUnavailable } from '#domain/billing/payments.ts';
import type { Billing } from './billing.ts';
import { changeLineRequest } from './change-line-request.ts';
import { awaitedInvoice, lineInvoices } from './line-invoices.ts';
import { requireRoom } from '#db/queries/accounts/limits.ts';
import {
  findAwaitingPayment,
  findLineRequest,
  grantFor,
  lockBilling,
  type StoredLineRequest,
} from '#db/queries/lines/line-requests.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';

/** An operation on a line request is refused with an error code of the API. */
export class LineRequestRefused extends Error {
  readonly code:
    | 'NOT_FOUND'
    | 'INVALID_STATE'
    | 'SUBSCRIPTION_REQUIRED'
    | 'FORBIDDEN_LINE_TYPE'
    | 'PAYMENT_PENDING';
  /** With `PAYMENT_PENDING`: the request that awaits payment. */
  readonly pending: StoredLineRequest | undefined;

  constructor(code: LineRequestRefused['code'], pending?: StoredLineRequest) {
    super(code);
    this.code = code;
    this.pending = pending;
  }
}

export interface LineBilling extends Billing {
  logger: Pick<Logger, 'warn'>;
}

interface RequestRef {
  workspaceId: string;
  lineId: string;
}

/** Recorded in the transaction of a change. */
type Audit = (db: TenantDb) => Promise<void>;

/** Minimum interval between reads of an invoice, because callers poll a request until its status changes. */
const CHECK_INTERVAL_MS = 5000;

/**
 * Decides how another line of a channel is paid for. Locks the workspace's billing.
 * @throws LineRequestRefused
 */
export async function grantLine(db: TenantDb, channel: Channel): Promise<Grant> {
  const billing = await lockBilling(db);
  if (!mayAddLines(billing)) throw new LineRequestRefused('SUBSCRIPTION_REQUIRED');
  const grant = await grantFor(db, billing, channel);
  if (grant === null) throw new LineRequestRefused('FORBIDDEN_LINE_TYPE');
  const pending = await findAwaitingPayment(db);
  if (pending) throw new LineRequestRefused('PAYMENT_PENDING', pending);
  return grant;
}

/**
 * Opens the invoice of a new request that requires payment. If the provider is unavailable, the request is canceled.
 * @param onCancel runs in the transaction that cancels the request.
 * @returns the URL of the hosted invoice; null if there is none.
 */
export async function openFirstInvoice(
  billing: LineBilling,
  { workspaceId, lineId }: RequestRef,
  onCancel: (db: TenantDb) => Promise<void>,
): Promise<string | null> {
  const isAvailable = await settleInvoices(billing, { workspaceId, lineId });
  return withTenant(billing.pools, workspaceId, async (db) => {
    const [invoice] = found(await findLineRequest(db, lineId)).invoices;
    const paymentUrl = invoice?.paymentUrl ?? null;
    if (paymentUrl === null && !isAvailable) {
      await changeLineRequest(db, lineId, { type: 'cancel' });
      await onCancel(db);
    }
    return paymentUrl;
  });
}

/** How long a request waits for the invoice that a concurrent one is opening. */
const LINK_WAIT_MS = 2000;
const LINK_POLL_MS = 100;

/** Waits until a request that awaits payment has a link. @returns the request as it is then, or after `LINK_WAIT_MS`. */
export async function awaitPaymentLink(
  { pools }: Pick<LineBilling, 'pools'>,
  { workspaceId, lineId }: RequestRef,
): Promise<StoredLineRequest> {
  const end = performance.now() + LINK_WAIT_MS;
  for (;;) {
    const request = found(await withTenant(pools, workspaceId, (db) => findLineRequest(db, lineId)));
    const isOpening = request.provisioningStatus === 'awaiting_payment' && request.paymentLinkUrl === null;
    if (!isOpening || performance.now() > end) return request;
    await pause(LINK_POLL_MS);
  }
}

/**
 * Reads a request and, while it awaits payment, reconciles it with the plan and the payment provider, so that a lost
 * callback does not delay it.
 * @throws LineRequestRefused
 */
export async function refreshLineRequest(
  billing: LineBilling,
  { workspaceId, lineId }: RequestRef,
): Promise<{ before: StoredLineRequest; after: StoredLineRequest }> {
  const read = async (): Promise<StoredLineRequest> =>
    found(await withTenant(billing.pools, workspaceId, (db) => findLineRequest(db, lineId)));
  const before = await read();
  if (before.provisioningStatus !== 'awaiting_payment') return { before, after: before };

  const invoices = lineInvoices(billing, workspaceId, lineId);
  const reconciled = found(await invoices.reconcile());
  if (reconciled.provisioningStatus !== 'awaiting_payment') return { before, after: reconciled };

  const checkedAt = awaitedInvoice(reconciled)?.checkedAt?.getTime() ?? 0;
  if (reconciled.paymentLinkUrl === null) await ifAvailable(billing, lineId, () => invoices.settleAll());
  else if (currentTime().getTime() - checkedAt > CHECK_INTERVAL_MS)
    await ifAvailable(billing, lineId, () => invoices.check());
  return { before, after: await read() };
}

/** @throws LineRequestRefused unless the request awaits payment, or has just been paid. */
export async function findPaymentLink(billing: LineBilling, ref: RequestRef): Promise<StoredLineRequest> {
  const { before, after } = await refreshLineRequest(billing, ref);
  const hasInvoice = after.invoices.some(({ round }) => round === after.requestRound);
  const isJustPaid = after.provisioningStatus === 'provisioning' && hasInvoice;
  if (before.provisioningStatus !== 'awaiting_payment' && !isJustPaid)
    throw new LineRequestRefused('INVALID_STATE');
  return after;
}

/** @throws LineRequestRefused unless the request awaits payment. */
export async function cancelLineRequest(
  { pools }: LineBilling,
  { workspaceId, lineId }: RequestRef,
  audit: Audit,
): Promise<StoredLineRequest> {
  return withTenant(pools, workspaceId, async (db) => {
    const change = await changeLineRequest(db, lineId, { type: 'cancel' });
    if (!change) throw new LineRequestRefused('NOT_FOUND');
    if (change.outcome !== 'applied') throw new LineRequestRefused('INVALID_STATE');
    await audit(db);
    return change.request;
  });
}

/** @throws LineRequestRefused unless the request has failed and the plan still allows the line; LimitReached. */
export async function retryLineRequest(
  billing: LineBilling,
  ref: RequestRef,
  audit: Audit,
): Promise<StoredLineRequest> {
  const { workspaceId, lineId } = ref;
  // The invoice of the failed attempt is credited first, so that the credit pays for the next one.
  await settleInvoices(billing, ref);
  await withTenant(billing.pools, workspaceId, async (db) => {
    const { provisioningStatus, channel } = found(await findLineRequest(db, lineId));
    if (provisioningStatus !== 'failed') throw new LineRequestRefused('INVALID_STATE');
    await requireRoom(db, 'lines');
    const grant = await grantLine(db, channel);
    const change = await changeLineRequest(db, lineId, { type: 'retry', grant });
    if (change?.outcome !== 'applied') throw new LineRequestRefused('INVALID_STATE');
    await audit(db);
  });
  await settleInvoices(billing, ref);
  return found(await withTenant(billing.pools, workspaceId, (db) => findLineRequest(db, lineId)));
}

const settleInvoices = (billing: LineBilling, { workspaceId, lineId }: RequestRef): Promise<boolean> =>
  ifAvailable(billing, lineId, () => lineInvoices(billing, workspaceId, lineId).settleAll());

/** If the provider is unavailable, the request's workflow retries. @returns whether the provider was available. */
async function ifAvailable(
  { logger }: LineBilling,
  lineId: string,
  call: () => Promise<void>,
): Promise<boolean> {
  try {
    await call();
    return true;
  } catch (error) {
    if (!(error instanceof PaymentsUnavailable)) throw error;
    logger.warn({ lineId, error }, 'the payment provider is unavailable');
    return false;
  }
}

function found(request: StoredLineRequest | null): StoredLineRequest {
  if (!request) throw new LineRequestRefused('NOT_FOUND');
  return request;
}
