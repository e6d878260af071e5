/** The result of a call to a carrier. */
export type SendOutcome =
  | { kind: 'accepted'; carrierMessageId: string }
  /** The recipient cannot be reached on this channel (no iMessage): a business outcome, not a failure. */
  | { kind: 'unavailable'; reason: string }
  /** Rejected permanently. `optedOut` if the recipient has opted out at the carrier. */
  | { kind: 'refused'; reason: string; optedOut?: boolean }
  /** Certainly not sent; may be retried. */
  | { kind: 'transient'; reason: string; retryAfterMs?: number }
  /** May have been sent: it is reconciled with the carrier, never simply retried. */
  | { kind: 'unknown'; reason: string };
