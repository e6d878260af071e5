import { z } from 'zod';
import {
  awaitPaymentLink,
  cancelLineRequest,
  findPaymentLink,
  grantLine,
  LineRequestRefused,
  openFirstInvoice,
  refreshLineRequest,
  retryLineRequest,
} from '#db/commands/billing/line-requests.ts';
import { releaseIdempotencyKey } from '#db/queries/accounts/idempotency.ts';
import { insertTestLine, requireRoomForTestLine } from '#db/commands/test-mode/twin.ts';
import { findEmailPreferences } from '#db/queries/events/email-preferences.ts';
import { requireRoom } from '#db/queries/accounts/limits.ts';
import {
  findBilling,
  findLineRequest,
  grantFor,
  insertLineRequest,
  presentLineRequest,
} from '#db/queries/lines/line-requests.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import type { Pools } from '#db/connection/pools.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { isId, newId } from '#domain/base/ids.ts';
import type { Grant, LineKind } from '#domain/billing/entitlement.ts';
import { PaymentsUnavailable, Price } from '#domain/billing/payments.ts';
import { NO_CARRIER, type RequestSource } from '#domain/lines/line.ts';
import { LineRequest, LineRequestAction, LineRequestInput } from '#domain/lines/line-request.ts';
import { modeOf } from '#domain/test-mode/test-mode.ts';
import { paidLineNotice, emailOwner } from '../accounts/owner-notices.ts';
import { checkPaidRequest } from './paid-lines.ts';
import type { RecordAudit } from '#api/http/audit.ts';
import { ApiError } from '#api/http/errors.ts';
import { requestHash, withIdempotencyKey, workspaceKeys } from '#api/http/idempotency.ts';
import { type HandlerResult, workspaceRoute } from '#api/http/route.ts';
import { requireWritable } from '#api/http/read-only.ts';
import type { Services } from '#api/services.ts';

const CREATE = 'createLineRequest';

const LineOffer = z.object({
  grant: z.enum(['included', 'invoiced', 'payment']).nullable().meta({
    description:
      'How another line of this kind would be paid for: not at all, on the agency’s invoice, or before it is set up. null: the plan does not allow it, or there is none.',
  }),
  price: Price.nullable().meta({ description: 'null: nothing, or the payment provider does not tell.' }),
});

const isCharge = (grant: Grant | null): boolean => grant === 'payment' || grant === 'invoiced';

const LineRequestParams = z.object({ id: z.string() });

export const lineRequestRoutes = [
  workspaceRoute({
    id: CREATE,
    method: 'POST',
    path: '/api/line-requests',
    tag: 'Line requests',
    transaction: false,
    summary: 'Request a line',
    description:
      'A line that the plan includes is provisioned at once. An add-on, which needs an owner, an admin, or a key with all scopes, without an expiry and allowed addresses, waits for a payment at `paymentUrl`, or in invoice billing is granted at once and added to the agency invoice. If no carrier of this installation provides lines of the channel, the response is `409 NO_CARRIER_FOR_LINE`, before anything is paid. If the carrier then finds no number in the country and with the area code, or refuses it, the request becomes `failed`, and a payment is credited. A line of your own (`byo`) stays `provisioning` until you connect it at `PUT /api/lines/{id}/carrier`.',
    idempotent: true,
    body: LineRequestInput,
    responses: { 201: LineRequest },
    errors: [
      'SUBSCRIPTION_REQUIRED',
      'FORBIDDEN_LINE_TYPE',
      'NO_CARRIER_FOR_LINE',
      'PAYMENT_PENDING',
      'ADMIN_REQUIRED',
      'LIMIT_REACHED',
      'UNAVAILABLE',
    ],
    audit: {
      action: 'line_request.created',
      target: 'line_request',
      targets: 'handler',
      changes: ['channelType', 'lineType', 'country'],
    },
    async handler({ caller, body, header, audit, now, ...services }) {
      const { pools, carriers, secrets } = services;
      const workspaceId = caller.workspace.id;
      const isTest = modeOf(caller.workspace) === 'test';
      const key = header('idempotency-key');
      const carrier = carriers.provisionerOf(body.channelType, body.lineType);
      if (!carrier && body.lineType !== 'byo' && !isTest) throw new ApiError('NO_CARRIER_FOR_LINE');

      const keyed = { route: CREATE, key, hash: await requestHash(body) };
      if (!isTest) await checkPaidRequest(caller, body.channelType, services);
      // Committed before the provider is called: after a crash in between, the request's workflow continues.
      const answer = await withTenant(pools, workspaceId, (db) =>
        withIdempotencyKey(workspaceKeys(db), keyed, secrets, async (): Promise<HandlerResult> => {
          if (isTest) return activeTestLine(db, body, audit);
          await requireRoom(db, 'lines');
          const grant = await grantLine(db, body.channelType);
          const request = await insertLineRequest(db, {
            ...body,
            country: body.country ?? caller.workspace.country,
            id: newId(),
            carrier: carrier?.name ?? NO_CARRIER,
            source: sourceOf(caller),
            grant,
          });
          await audit(db, [{ id: request.id }]);
          if (grant !== 'included' && (await findEmailPreferences(db)).billing.enabled)
            await emailOwner(db, paidLineNotice(request, caller.actor.name ?? 'Somebody'), {
              ...services,
              now,
            });
          return { status: 201, body: presentLineRequest(request) };
        }),
      ).catch((error: unknown) => refuse(error, caller, pools));
      const created = LineRequest.parse(answer.body);
      if (!created.paymentRequired) return { ...answer, status: 201, body: created };

      const ref = { workspaceId, lineId: created.line._id };
      const paymentUrl = await openFirstInvoice(services, ref, (db) =>
        releaseIdempotencyKey(db, CREATE, key),
      ).catch((error: unknown) => refuse(error, caller, pools));
      if (paymentUrl === null)
        throw new ApiError('UNAVAILABLE', 'The payment provider is unavailable; nothing was requested');
      return { ...answer, status: 201, body: { ...created, paymentUrl } };
    },
  }),

  workspaceRoute({
    id: 'getLinePrices',
    method: 'GET',
    path: '/api/line-requests/prices',
    tag: 'Line requests',
    transaction: false,
    summary: 'Get what another line would cost, and how it would be paid for',
    responses: {
      200: z.object({ success: z.literal(true), phone: LineOffer, email: LineOffer }),
    },
    async handler({ caller, pools, payments, logger }) {
      const isTest = modeOf(caller.workspace) === 'test';
      const [phone, email] = isTest
        ? (['included', 'included'] as const)
        : await withTenant(pools, caller.workspace.id, async (db) => {
            const billing = await findBilling(db);
            return [await grantFor(db, billing, 'imessage'), await grantFor(db, billing, 'email')] as const;
          });
      const prices = [phone, email].some(isCharge)
        ? await payments.readPrices().catch((error: unknown) => {
            if (!(error instanceof PaymentsUnavailable)) throw error;
            logger.warn({ error }, 'the payment provider is unavailable');
            return null;
          })
        : null;
      const offer = (grant: Grant | null, kind: LineKind) => ({
        grant,
        price: (isCharge(grant) && prices?.lines[kind]) || null,
      });
      return {
        status: 200,
        body: { success: true, phone: offer(phone, 'phone'), email: offer(email, 'email') },
      };
    },
  }),

  workspaceRoute({
    id: 'getLineRequest',
    method: 'GET',
    path: '/api/line-requests/{id}',
    tag: 'Line requests',
    transaction: false,
    summary: 'Get a line request; poll it until its status changes',
    params: LineRequestParams,
    responses: { 200: LineRequest },
    errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
    async handler({ caller, params, ...services }) {
      const ref = { workspaceId: caller.workspace.id, lineId: requestId(params.id) };
      const { after } = await refreshLineRequest(services, ref).catch((error: unknown) =>
        refuse(error, caller, services.pools),
      );
      return { status: 200, body: presentLineRequest(after) };
    },
  }),

  workspaceRoute({
    id: 'actOnLineRequest',
    method: 'POST',
    path: '/api/line-requests/{id}',
    tag: 'Line requests',
    transaction: false,
    summary: 'Get the payment link of a request, cancel it, or retry a failed one',
    params: LineRequestParams,
    body: z.object({ action: LineRequestAction }),
    responses: { 200: LineRequest },
    errors: [
      'VALIDATION_ERROR',
      'NOT_FOUND',
      'INVALID_STATE',
      'SUBSCRIPTION_REQUIRED',
      'FORBIDDEN_LINE_TYPE',
      'NO_CARRIER_FOR_LINE',
      'PAYMENT_PENDING',
      'ADMIN_REQUIRED',
      'LIMIT_REACHED',
      'READ_ONLY',
    ],
    openWhenReadOnly: true,
    audit: {
      action: 'line_request.updated',
      target: 'line_request',
      targets: 'handler',
      changes: ['action'],
    },
    async handler({ caller, params, body: { action }, audit, ...services }) {
      const ref = { workspaceId: caller.workspace.id, lineId: requestId(params.id) };
      if (action === 'retry') {
        requireWritable(caller);
        const request = await withTenant(services.pools, ref.workspaceId, (db) =>
          findLineRequest(db, ref.lineId),
        );
        if (request?.provisioningStatus === 'failed')
          await checkPaidRequest(caller, request.channel, services);
        await requireCarrier(services, ref);
      }
      const record = (db: TenantDb) => audit(db, [{ id: ref.lineId }]);
      const act = {
        payment_link: () => findPaymentLink(services, ref),
        cancel: () => cancelLineRequest(services, ref, record),
        retry: () => retryLineRequest(services, ref, record),
      }[action];
      const request = await act().catch((error: unknown) => refuse(error, caller, services.pools));
      return { status: 200, body: presentLineRequest(request) };
    },
  }),
];

/** In test mode nothing is paid or provisioned. */
async function activeTestLine(
  db: TenantDb,
  { channelType: channel, ...names }: LineRequestInput,
  audit: RecordAudit,
): Promise<HandlerResult> {
  await requireRoomForTestLine(db);
  const id = await insertTestLine(db, { channel, ...names });
  await audit(db, [{ id }]);
  const request = await findLineRequest(db, id);
  if (!request) throw new Error('the inserted line was not found');
  return { status: 201, body: presentLineRequest(request) };
}

/** The carrier of a failed request may not be configured any more. */
async function requireCarrier(
  { pools, carriers }: Services,
  { workspaceId, lineId }: { workspaceId: string; lineId: string },
): Promise<void> {
  const request = await withTenant(pools, workspaceId, (db) => findLineRequest(db, lineId));
  if (request?.provisioningStatus !== 'failed' || request.carrier === NO_CARRIER) return;
  if (!carriers.names.includes(request.carrier)) throw new ApiError('NO_CARRIER_FOR_LINE');
}

function sourceOf({ via, isOfAgency }: WorkspaceCaller): RequestSource {
  if (via === 'key') return 'api';
  return isOfAgency ? 'agency' : 'dashboard';
}

function requestId(id: string): string {
  if (isId(id)) return id;
  const text = 'Invalid line request id';
  throw new ApiError('VALIDATION_ERROR', text, { issues: [{ path: 'id', message: text }] });
}

/** With `PAYMENT_PENDING`, waits for the link that a concurrent request is about to get. */
async function refuse(error: unknown, { workspace }: WorkspaceCaller, pools: Pools): Promise<never> {
  if (!(error instanceof LineRequestRefused)) throw error;
  const { code } = error;
  if (code === 'NOT_FOUND') throw new ApiError(code, 'Line request not found');
  if (!error.pending) throw new ApiError(code);
  const ref = { workspaceId: workspace.id, lineId: error.pending.id };
  const pending =
    error.pending.paymentLinkUrl === null ? await awaitPaymentLink({ pools }, ref) : error.pending;
  throw new ApiError(code, undefined, { lineId: pending.id, paymentUrl: pending.paymentLinkUrl });
}
