import type { CarrierEvent } from '#domain/lines/carrier-event.ts';
import type { ActionOutcome } from '#domain/messages/message-action.ts';
import { refusedCredentials, type SendOutcome } from '#domain/messages/send-outcome.ts';

/**
 * What an error code of a carrier is about. Errors about the account, its registrations, the sender or the settings (`line`) are transient
 * for the message, because the operator can fix them; those about the recipient or the text are not.
 */
export type CarrierFailure = 'refused' | 'unavailable' | 'transient' | 'opted_out' | 'credentials' | 'line';

/** The outcome of a send to which a carrier responded with such an error. */
export function outcomeOfFailure(failure: CarrierFailure, reason: string): SendOutcome {
  switch (failure) {
    case 'opted_out':
      return { kind: 'refused', reason, optedOut: true };
    case 'line':
      return { kind: 'transient', reason, ofLine: true };
    case 'credentials':
      return refusedCredentials(reason);
    case 'refused':
    case 'unavailable':
    case 'transient':
      return { kind: failure, reason };
  }
}

/** The outcome of an action, which failed as a send would have. */
export function actionOutcomeOf(outcome: SendOutcome): ActionOutcome {
  switch (outcome.kind) {
    case 'transient':
    case 'unknown':
      return { kind: outcome.kind, reason: outcome.reason };
    case 'refused':
    case 'unavailable':
      return { kind: 'refused', reason: outcome.reason };
    case 'accepted':
      return { kind: 'accepted' };
  }
}

/** The outcome of an action that ended with a question before it: without the carrier's own refusal, it is tried again. */
export const outcomeOfQuestion = (outcome: ActionOutcome, reason: string): ActionOutcome =>
  outcome.kind === 'refused' ? outcome : { kind: 'transient', reason };

/** A message of which only the first part was sent: a retry would send that twice. */
export const sentInPart = (reason: string, carrierMessageId: string): SendOutcome => ({
  kind: 'refused',
  reason: `only a part was sent: ${reason}`,
  sentPart: carrierMessageId,
});

type Receipt = Extract<CarrierEvent, { kind: 'receipt' }>;

/** What a receipt says of such an error that is reported later; it means what it would have meant at once. */
export function receiptOfFailure(
  failure: CarrierFailure | undefined,
): Pick<Receipt, 'optedOut' | 'unavailable' | 'ofLine'> {
  switch (failure) {
    case 'opted_out':
      return { optedOut: true };
    case 'unavailable':
      return { unavailable: true };
    case 'line':
    case 'credentials':
      return { ofLine: true };
    // `transient` as well: the network has tried for as long as it does.
    case 'transient':
    case 'refused':
    case undefined:
      return {};
  }
}
