import { refreshSubscription } from '#db/commands/billing/billing.ts';
import { applyInvoiceEvent, notePaymentEvent } from '#db/commands/billing/payment-events.ts';
import { systemDb, withTenant } from '#db/pool.ts';
import { lineHome } from '#db/queries/workspaces.ts';
import { BadPaymentSignature, PaymentsUnavailable } from '#domain/payments.ts';
import { readRawBody } from '../http/body.ts';
import { ApiError } from '../http/errors.ts';
import { publicRoute } from '../http/route.ts';

/** Invoices and subscriptions, as the payment provider tells of them (decisions §6): in any order, more than once. */
export const receivePaymentCallback = publicRoute({
  id: 'paymentCallback',
  method: 'POST',
  path: '/callbacks/payments',
  tag: 'Callbacks',
  summary: "The payment provider's events; verified by their `Stripe-Signature`",
  async respond(context, { pools, payments, waker, logger }) {
    const rawBody = await readRawBody(context);
    const event = translated(() => payments.parseCallback(rawBody, context.get('stripe-signature')));
    if (event?.kind === 'invoice') {
      // Where the line is now: it may have moved within its agency since the invoice was made.
      const home = await lineHome(systemDb(pools), event.lineId);
      const wakes =
        home &&
        (await withTenant(pools, home.workspaceId, async (db) =>
          (await notePaymentEvent(db, event)) ? applyInvoiceEvent(db, event) : [],
        ));
      if (!home)
        logger.warn(
          { lineId: event.lineId, type: event.type },
          'an invoice event is about a line that is not here',
        );
      for (const id of wakes ?? []) waker.wake(id, home?.workspaceId ?? '');
    }
    if (event?.kind === 'subscription') {
      const refreshed = await refreshSubscription({ pools, payments }, event.subscriptionId).catch(
        (error: unknown) => {
          throw translatedError(error);
        },
      );
      for (const id of refreshed?.wakes ?? []) waker.wake(id, refreshed?.workspaceId ?? '');
    }
    if (event?.kind === 'card') {
      await payments.useCard(event).catch((error: unknown) => {
        throw translatedError(error);
      });
    }
    context.body = { success: true };
  },
});

function translated<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw translatedError(error);
  }
}

/** Anything but 2xx makes the provider tell it again. */
function translatedError(error: unknown): unknown {
  if (error instanceof BadPaymentSignature)
    return new ApiError('UNAUTHORIZED', 'The signature does not match');
  return error instanceof PaymentsUnavailable ? new ApiError('UNAVAILABLE') : error;
}
