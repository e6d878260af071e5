import type { CarrierEvent } from '#domain/lines/carrier-event.ts';
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
