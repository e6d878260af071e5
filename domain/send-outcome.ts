/** What a carrier answered, in the terms that matter for what happens next. */
export type SendOutcome =
  | { kind: 'accepted'; carrierMessageId: string }
  /** The recipient cannot be reached on this channel (no iMessage): a business outcome, not a failure. */
  | { kind: 'unavailable'; reason: string }
  /** Refused for good. `optedOut` when the carrier knows that the recipient wrote STOP. */
  | { kind: 'refused'; reason: string; optedOut?: boolean }
  /** Certainly not sent; may be tried again. */
  | { kind: 'transient'; reason: string; retryAfterMs?: number }
  /** Nobody can tell whether it was sent: reconciled, never simply tried again. */
  | { kind: 'unknown'; reason: string };
