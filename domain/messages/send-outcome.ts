import type { Transport } from './transport.ts';

/** The result of a call to a carrier. */
export type SendOutcome =
  /** `transport`: as the carrier has sent it, if it says so. `groupId`: the carrier's id of the group to which it went. */
  | { kind: 'accepted'; carrierMessageId: string; transport?: Transport; groupId?: string }
  /** The recipient cannot be reached on this channel (no iMessage): a business outcome, not a failure. */
  | { kind: 'unavailable'; reason: string }
  /**
   * Rejected permanently. `optedOut` if the recipient has opted out at the carrier. `sentPart`: the carrier's id of a part that has left, so
   * that the message must not be sent again.
   */
  | { kind: 'refused'; reason: string; optedOut?: boolean; sentPart?: string }
  /**
   * Certainly not sent; may be retried. `ofLine` if the reason is the account, the server or what is in front of it, so that other
   * messages of the line would fare no better: the message waits without a limit, and the line pauses.
   */
  | { kind: 'transient'; reason: string; retryAfterMs?: number; ofLine?: true }
  /**
   * May have been sent: it is reconciled with the carrier, never simply retried. `ofLine` if somebody else has answered in the place of the
   * carrier, as they would for other messages.
   */
  | { kind: 'unknown'; reason: string; ofLine?: true };

const CREDENTIALS_REFUSED = 'credentials refused: ';

/** The carrier refuses the line's credentials. The message may be sent after they are corrected. */
export const refusedCredentials = (reason: string): Extract<SendOutcome, { kind: 'transient' }> => ({
  kind: 'transient',
  reason: `${CREDENTIALS_REFUSED}${reason}`,
  ofLine: true,
});

/** The carrier's reason for refusing the credentials; null if the outcome has another reason. */
export const credentialsRefusal = (reason: string): string | null =>
  reason.startsWith(CREDENTIALS_REFUSED) ? reason.slice(CREDENTIALS_REFUSED.length) : null;
