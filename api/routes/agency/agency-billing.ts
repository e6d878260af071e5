import { z } from 'zod';
import { findClient } from '#db/queries/accounts/agency.ts';
import {
  agencyCustomer,
  BillingDisabled,
  subscribe,
  SubscriptionBusy,
} from '#db/commands/billing/billing.ts';
import { systemDb, withSystemShare } from '#db/connection/transactions.ts';
import { BillingMode, Plan } from '#domain/billing/entitlement.ts';
import { WorkspaceId } from '#domain/base/ids.ts';
import { CardDeclined, PaymentsUnavailable, Price } from '#domain/billing/payments.ts';
import { ApiError } from '#api/http/errors.ts';
import { agencyRoute } from '#api/http/route.ts';

export const agencyBillingRoutes = [
  agencyRoute({
    id: 'getAgencyBilling',
    method: 'GET',
    path: '/api/agency/billing',
    tag: 'Agency',
    summary: "Get the agency's billing mode",
    credential: 'session',
    role: 'owner',
    responses: { 200: z.object({ success: z.literal(true), billingMode: BillingMode }) },
    async handler({ caller }) {
      return { status: 200, body: { success: true, billingMode: caller.agency.billingMode } };
    },
  }),

  agencyRoute({
    id: 'getPlanPrices',
    method: 'GET',
    path: '/api/agency/billing/prices',
    tag: 'Agency',
    transaction: false,
    summary: 'Get what the plans of clients cost',
    credential: 'session',
    responses: {
      200: z.object({
        success: z.literal(true),
        plans: z
          .record(Plan, Price.nullable())
          .meta({ description: 'null: the payment provider does not tell.' }),
      }),
    },
    errors: ['BILLING_DISABLED', 'UNAVAILABLE'],
    async handler({ caller, payments }) {
      if (caller.agency.billingMode === 'none') throw new ApiError('BILLING_DISABLED');
      const { plans } = await payments.readPrices().catch((error: unknown) => {
        throw refusalOf(error);
      });
      return { status: 200, body: { success: true, plans } };
    },
  }),

  agencyRoute({
    id: 'subscribeClient',
    method: 'POST',
    path: '/api/agency/billing/subscribe',
    tag: 'Agency',
    transaction: false,
    summary: 'Subscribe a client to a plan without a checkout page',
    description:
      'Card billing charges the saved card. Invoice billing creates no subscription at the payment provider.',
    body: z.object({ workspaceId: z.string(), plan: Plan }),
    responses: {
      200: z.object({
        success: z.literal(true),
        workspaceId: WorkspaceId,
        plan: Plan,
        subscriptionId: z.string().nullable(),
        billingMode: BillingMode,
      }),
    },
    errors: ['WORKSPACE_NOT_FOUND', 'CARD_DECLINED', 'BILLING_DISABLED', 'CONFLICT', 'UNAVAILABLE'],
    audit: {
      action: 'subscription.changed',
      target: 'workspace',
      targets: 'handler',
      changes: ['workspaceId', 'plan'],
    },
    async handler({ caller, body: { workspaceId, plan }, pools, payments, logger, audit }) {
      if (!(await findClient(systemDb(pools), caller.agency.id, workspaceId)))
        throw new ApiError('WORKSPACE_NOT_FOUND');
      const { subscriptionId, billingMode } = await subscribe({ pools, payments }, workspaceId, plan, (db) =>
        audit(db, [{ id: workspaceId, workspaceId }]),
      ).catch((error: unknown) => {
        if (error instanceof PaymentsUnavailable)
          logger.warn({ workspaceId, error }, 'the payment provider is unavailable');
        throw refusalOf(error);
      });
      return { status: 200, body: { success: true, workspaceId, plan, subscriptionId, billingMode } };
    },
  }),

  agencyRoute({
    id: 'changeAgencyCard',
    method: 'POST',
    path: '/api/agency/billing/card',
    tag: 'Agency',
    transaction: false,
    summary: "Save or change the agency's card on a page of the payment provider",
    description: 'The plans and add-on lines of all clients are charged to the most recently saved card.',
    credential: 'session',
    role: 'owner',
    body: z.object({
      /** Where the page redirects after the card is saved. */
      returnUrl: z.url({ protocol: /^https?$/ }).max(2000),
    }),
    responses: { 200: z.object({ success: z.literal(true), url: z.string() }) },
    errors: ['BILLING_DISABLED', 'UNAVAILABLE'],
    audit: { action: 'payment_method.page_opened', target: 'agency', targets: 'handler' },
    async handler({ caller, body, pools, payments, audit }) {
      if (caller.agency.billingMode === 'none') throw new ApiError('BILLING_DISABLED');
      try {
        const customerId = await agencyCustomer({ pools, payments }, caller.agency.id);
        const url = await payments.openCardPage({ customerId, returnUrl: body.returnUrl });
        await withSystemShare(pools, caller.agency.id, (db) => audit(db, [{ id: caller.agency.id }]));
        return { status: 200, body: { success: true, url } };
      } catch (error) {
        throw refusalOf(error);
      }
    },
  }),
];

function refusalOf(error: unknown): unknown {
  if (error instanceof CardDeclined) return new ApiError('CARD_DECLINED');
  if (error instanceof BillingDisabled) return new ApiError('BILLING_DISABLED');
  if (error instanceof SubscriptionBusy)
    return new ApiError('CONFLICT', "Another change of the client's plan is in progress");
  if (error instanceof PaymentsUnavailable)
    return new ApiError('UNAVAILABLE', 'The payment provider is unavailable; nothing has changed');
  return error;
}
