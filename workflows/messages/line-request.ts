/** What a look at a line request finds to do next. */
export interface LineRequestView {
  status: 'awaiting_payment' | 'unconnected' | 'provisioning' | 'active' | 'failed' | 'canceled';
  /** Something is still to be done, or asked, at the payment provider. */
  owes: boolean;
  /** The request has changed since it was looked at. */
  isChanged?: boolean;
  /** Whose workers provision the line. */
  carrier?: string;
}

/** The type of failure that a carrier's permanent refusal ends an activity with. */
export const LINE_REFUSED = 'LineRefused';
