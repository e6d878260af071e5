import type { Context } from 'koa';
import { refreshSubscription } from '#db/commands/billing/billing.ts';
import { applyInvoiceEvent, recordPaymentEvent } from '#db/commands/billing/payment-events.ts';
import { withAuth, withTenant } from '#db/connection/transactions.ts';
import { findLineOwner } from '#db/queries/accounts/workspaces.ts';
import {
  BadPaymentSignature,
  type PaymentEvent,
  PaymentsUnavailable,
  UnreadablePaymentCallback,
} from '#domain/billing/payments.ts';
import { readUtf8Body } from '#api/http/body.ts';
import { clientAddress } from '#api/http/client-address.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { refuseSignature } from '#api/http/refuse-signature.ts';
import { publicRoute } from '#api/http/route.ts';
import type { Services } from '#api/services.ts';

export const paymentCallbackRoutes = [
  /** Events arrive in any order and more than once. */
  publicRoute({
    id: 'paymentCallback',
    method: 'POST',
    path: '/callbacks/payments',
    tag: 'Callbacks',
    summary: 'Receive events of the payment provider, verified by `Stripe-Signature`',
    contentTypes: { 200: 'application/json' },
    errors: ['VALIDATION_ERROR', 'UNAUTHORIZED', 'BODY_TOO_LARGE'],
    async respond(context, services) {
      const { pools, payments, logger, callers } = services;
      const event = await readEvent(context, services);
      if (event?.kind === 'invoice') {
        // The line may have been transferred since the invoice was created.
        const home = await withAuth(pools, clientAddress(context), `line ${event.lineId}`, (db) =>
          findLineOwner(db, event.lineId),
        );
        if (home)
          await withTenant(pools, home.workspaceId, async (db) => {
            if ((await recordPaymentEvent(db, event)) && !(await applyInvoiceEvent(db, event)))
              logger.warn(
                { lineId: event.lineId, type: event.type },
                'received an event of an invoice that the line request does not have',
              );
          });
        else
          logger.warn(
            { lineId: event.lineId, type: event.type },
            'received an invoice event for an unknown line',
          );
      }
      if (event?.kind === 'subscription') {
        await refreshSubscription({ pools, payments }, event.subscriptionId).catch((error: unknown) => {
          throw translatedError(error);
        });
        // The next request must see whether the workspace is read-only.
        callers.forget();
      }
      if (event?.kind === 'card') {
        await payments.setDefaultCard(event).catch((error: unknown) => {
          throw translatedError(error);
        });
      }
      context.body = { success: true };
    },
  }),
];

/** @throws UNAUTHORIZED, VALIDATION_ERROR; RATE_LIMITED after too many invalid signatures from one client. */
async function readEvent(context: Context, services: Services): Promise<PaymentEvent | null> {
  const rawBody = await readUtf8Body(context);
  try {
    return await services.payments.parseCallback(rawBody, context.get('stripe-signature'));
  } catch (error) {
    if (error instanceof UnreadablePaymentCallback) throw invalid(error.part, error.message);
    if (!(error instanceof BadPaymentSignature)) throw translatedError(error);
    return refuseSignature(context, services);
  }
}

/** The provider retries after any response other than 2xx. */
function translatedError(error: unknown): unknown {
  return error instanceof PaymentsUnavailable
    ? new ApiError('UNAVAILABLE', 'The payment provider is unavailable; try again')
    : error;
}
