import { z } from 'zod';
import { releaseIdempotencyKey } from '#db/queries/idempotency.ts';
import { awaitedInvoice, lineInvoices } from '#db/commands/billing/line-invoices.ts';
import {
  changeLineRequest,
  findAwaitingPayment,
  findLineRequest,
  grantFor,
  insertLineRequest,
  lockBilling,
  presentLineRequest,
  type StoredLineRequest,
} from '#db/queries/line-requests.ts';
import { type TenantDb, withTenant } from '#db/transactions.ts';
import type { WorkspaceCaller } from '#domain/caller.ts';
import type { Grant } from '#domain/entitlement.ts';
import { isId, newId } from '#domain/ids.ts';
import { NO_CARRIER } from '#domain/line.ts';
import { LineRequest, LineRequestAction, LineRequestInput } from '#domain/line-request.ts';
import type { Channel } from '#domain/channel.ts';
import { PaymentsUnavailable } from '#domain/payments.ts';
import type { RecordAudit } from '../http/audit.ts';
import { ApiError } from '../http/errors.ts';
import { withIdempotencyKey, requestHash } from '../http/idempotency.ts';
import type { HandlerResult } from '../http/respond.ts';
import { workspaceRoute } from '../http/route.ts';
import type { Services } from '../services.ts';

const CREATE = 'createLineRequest';

/** Callers poll a request until its status changes; the provider is asked this often at most. */
const CHECK_EVERY_MS = 5000;

const LineRequestParams = z.object({ id: z.string() });

type Act = (
  caller: WorkspaceCaller,
  id: string,
  services: Services & { audit: RecordAudit },
) => Promise<StoredLineRequest>;

export const lineRequestRoutes = [
  workspaceRoute({
    id: CREATE,
    method: 'POST',
    path: '/api/line-requests',
    tag: 'Line requests',
    transaction: false,
    summary: 'Request a line',
    description:
      'A line that the plan includes is provisioned at once. An add-on waits for a payment at `paymentUrl`, or in invoice billing is granted at once and added to the agency invoice. Where no carrier provisions lines for the channel, a line of your own (`byo`) is `provisioning` until it is connected at `PUT /api/lines/{id}/carrier`.',
    idempotent: true,
    body: LineRequestInput,
    responses: { 201: LineRequest },
    errors: ['SUBSCRIPTION_REQUIRED', 'FORBIDDEN_LINE_TYPE', 'PAYMENT_PENDING', 'UNAVAILABLE'],
    audit: {
      action: 'line_request.created',
      target: 'line_request',
      targets: 'handler',
      changes: ['channelType', 'lineType', 'country'],
    },
    async handler({ caller, body, header, audit, ...services }) {
      const { pools, carriers, secrets } = services;
      const workspaceId = caller.workspace.id;
      const key = header('idempotency-key');
      const carrier = carriers.provisionerOf(body.channelType);
      if (!carrier && body.lineType !== 'byo')
        throw new ApiError('UNAVAILABLE', 'No carrier provisions lines for this channel');

      // The request is on record before the provider is asked: a crash in between is repaired by the request's workflow.
      const answer = await withTenant(pools, workspaceId, (db) =>
        withIdempotencyKey(
          db,
          { route: CREATE, key, hash: requestHash(body) },
          secrets,
          async (): Promise<HandlerResult> => {
            const granted = await grantLine(db, body.channelType);
            const country = body.country ?? caller.workspace.country;
            const source = caller.via === 'key' ? 'api' : 'dashboard';
            const stored = await insertLineRequest(db, {
              ...body,
              country,
              id: newId(),
              carrier: carrier?.name ?? NO_CARRIER,
              source,
              grant: granted,
            });
            await audit(db, [{ id: stored.id }]);
            return { status: 201, body: presentLineRequest(stored) };
          },
        ),
      );
      const request = LineRequest.parse(answer.body);
      const id = request.line._id;
      const paymentUrl = request.paymentRequired
        ? await firstPaymentUrl(services, workspaceId, id, key)
        : null;
      return { ...answer, status: 201, body: { ...request, ...(paymentUrl !== null && { paymentUrl }) } };
    },
  }),

  workspaceRoute({
    id: 'getLineRequest',
    method: 'GET',
    path: '/api/line-requests/{id}',
    tag: 'Line requests',
    transaction: false,
    summary: 'One line request; to be polled until its status changes',
    params: LineRequestParams,
    responses: { 200: LineRequest },
    errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
    async handler({ caller, params, ...services }) {
      const { after } = await reconciled(caller, params.id, services);
      return { status: 200, body: presentLineRequest(after) };
    },
  }),

  workspaceRoute({
    id: 'actOnLineRequest',
    method: 'POST',
    path: '/api/line-requests/{id}',
    tag: 'Line requests',
    transaction: false,
    summary: 'Get the payment link of a request, cancel it, or try a failed one again',
    params: LineRequestParams,
    body: z.object({ action: LineRequestAction }),
    responses: { 200: LineRequest },
    errors: [
      'VALIDATION_ERROR',
      'NOT_FOUND',
      'INVALID_STATE',
      'SUBSCRIPTION_REQUIRED',
      'FORBIDDEN_LINE_TYPE',
      'PAYMENT_PENDING',
      'READ_ONLY',
    ],
    openWhenReadOnly: true,
    audit: {
      action: 'line_request.updated',
      target: 'line_request',
      targets: 'handler',
      changes: ['action'],
    },
    async handler({ caller, params, body, ...services }) {
      const act = { payment_link: paymentLink, cancel, retry }[body.action];
      return { status: 200, body: presentLineRequest(await act(caller, requestId(params.id), services)) };
    },
  }),
];

/** How the next line of a channel would be provided. @throws SUBSCRIPTION_REQUIRED, FORBIDDEN_LINE_TYPE or PAYMENT_PENDING. */
async function grantLine(db: TenantDb, channel: Channel): Promise<Grant> {
  const billing = await lockBilling(db);
  if (billing.subscriptionStatus !== 'active') throw new ApiError('SUBSCRIPTION_REQUIRED');
  const granted = await grantFor(db, billing, channel);
  if (granted === null) throw new ApiError('FORBIDDEN_LINE_TYPE');
  const pending = await findAwaitingPayment(db);
  if (pending)
    throw new ApiError('PAYMENT_PENDING', undefined, {
      lineId: pending.id,
      paymentUrl: pending.paymentLinkUrl,
    });
  return granted;
}

/** The hosted invoice of a new request. @throws UNAVAILABLE when there is none: the request is taken back then. */
async function firstPaymentUrl(
  services: Services,
  workspaceId: string,
  id: string,
  key: string,
): Promise<string> {
  const answered = await whileReachable(services, id, () =>
    lineInvoices(services, workspaceId, id).settleAll(),
  );
  const paymentUrl = await withTenant(services.pools, workspaceId, async (db) => {
    const [first] = found(await findLineRequest(db, id)).invoices;
    if (first?.paymentUrl || answered) return first?.paymentUrl;
    await changeLineRequest(db, id, { type: 'cancel' });
    await releaseIdempotencyKey(db, CREATE, key);
    return null;
  });
  if (paymentUrl) return paymentUrl;
  throw new ApiError('UNAVAILABLE', 'The payment provider does not answer; nothing was requested');
}

/** What the provider cannot take now, the request's workflow does later. @returns whether the provider answered. */
async function whileReachable(
  { logger }: Services,
  lineId: string,
  ask: () => Promise<void>,
): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    if (!(error instanceof PaymentsUnavailable)) throw error;
    logger.warn({ lineId, error }, 'the payment provider does not answer');
    return false;
  }
}

const paymentLink: Act = async (caller, id, services) => {
  const { before, after } = await reconciled(caller, id, services);
  // Settled a moment ago is no error to somebody who asks where to pay.
  const wasAwaited = after.invoices.some(({ round }) => round === after.requestRound);
  const justSettled = after.provisioningStatus === 'provisioning' && wasAwaited;
  if (before.provisioningStatus !== 'awaiting_payment' && !justSettled) throw new ApiError('INVALID_STATE');
  return after;
};

const cancel: Act = async ({ workspace }, id, { pools, audit }) => {
  const change = await withTenant(pools, workspace.id, async (db) => {
    const canceled = await changeLineRequest(db, id, { type: 'cancel' });
    if (canceled?.possible) await audit(db, [{ id }]);
    return canceled;
  });
  if (!change) throw lineRequestNotFound();
  if (!change.possible) throw new ApiError('INVALID_STATE');
  return change.request;
};

const retry: Act = async ({ workspace }, id, services) => {
  if (workspace.subscriptionStatus === 'past_due')
    throw new ApiError('READ_ONLY', undefined, { reason: 'past_due' });
  const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
    withTenant(services.pools, workspace.id, work);
  const settle = (): Promise<boolean> =>
    whileReachable(services, id, () => lineInvoices(services, workspace.id, id).settleAll());
  // The failed attempt is credited first: its credit pays for this one, which then goes on at once.
  await settle();
  await tenant(async (db) => {
    const { provisioningStatus, channel } = found(await findLineRequest(db, id));
    if (provisioningStatus !== 'failed') throw new ApiError('INVALID_STATE');
    const change = await changeLineRequest(db, id, { type: 'retry', grant: await grantLine(db, channel) });
    if (!change?.possible) throw new ApiError('INVALID_STATE');
    await services.audit(db, [{ id }]);
  });
  await settle();
  return found(await tenant((db) => findLineRequest(db, id)));
};

/** Reads a request and brings it up to date with the plan and the provider, so that a lost callback holds up nobody. */
async function reconciled(
  { workspace }: WorkspaceCaller,
  givenId: string,
  services: Services,
): Promise<{ before: StoredLineRequest; after: StoredLineRequest }> {
  const id = requestId(givenId);
  const read = async (): Promise<StoredLineRequest> =>
    found(await withTenant(services.pools, workspace.id, (db) => findLineRequest(db, id)));
  const before = await read();
  if (before.provisioningStatus !== 'awaiting_payment') return { before, after: before };
  const invoices = lineInvoices(services, workspace.id, id);
  let after = found(await invoices.reconcile());
  if (after.provisioningStatus === 'awaiting_payment') {
    const checkedAt = awaitedInvoice(after)?.checkedAt?.getTime() ?? 0;
    if (after.paymentLinkUrl === null) await whileReachable(services, id, () => invoices.settleAll());
    else if (Date.now() - checkedAt > CHECK_EVERY_MS)
      await whileReachable(services, id, () => invoices.check());
    after = await read();
  }
  return { before, after };
}

function requestId(id: string): string {
  if (isId(id)) return id;
  const text = 'Invalid line request id';
  throw new ApiError('VALIDATION_ERROR', text, { issues: [{ path: 'id', message: text }] });
}

const lineRequestNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Line request not found');

function found(request: StoredLineRequest | null): StoredLineRequest {
  if (!request) throw lineRequestNotFound();
  return request;
}
