/** The state of a line request, which determines its next step. */
export interface LineRequestView {
  status: 'awaiting_payment' | 'unconnected' | 'provisioning' | 'active' | 'failed' | 'canceled';
  /** Its invoices require calls to the payment provider. */
  owes: boolean;
  /** For operators. */
  reason?: string;
  /** The request changed during the round. */
  isChanged?: boolean;
  /** The number that was bought for it is to be released. */
  releases?: boolean;
  /** The workspace where the request is now: its line has moved since the run began. */
  home?: string;
  /** The carrier that provisions the line. */
  carrier?: string;
}

/** How often an open invoice is read without a signal, in case the provider's callback was lost. */
export const CHECK_EVERY_MS = 6 * 3_600_000;

/** The failure type of an activity when the carrier refuses permanently. */
export const LINE_REFUSED = 'LineRefused';
