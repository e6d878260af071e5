/** The errors of the API with which a command refuses. */
export type RefusalCode =
  | 'DRAFT_ALREADY_RESOLVED'
  | 'FALLBACK_NOT_CONFIGURED'
  | 'FORBIDDEN_LINE_TYPE'
  | 'INVALID_STATE'
  | 'LIMIT_REACHED'
  | 'MESSAGE_NOT_CANCELABLE'
  | 'NO_ACTIVE_LINE'
  | 'NOT_FOUND'
  | 'PAYMENT_PENDING'
  | 'READ_ONLY'
  | 'SUBSCRIPTION_REQUIRED'
  | 'UNSUPPORTED_BY_CARRIER'
  | 'VALIDATION_ERROR'
  | 'WORKSPACE_SUSPENDED';

/**
 * A command refuses, whoever gives it: a route responds with the code, an operator's update fails with it, a signal shows the text.
 * Its transaction changes nothing.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  /** The field of the request that it is about; null: the request as a whole. */
  readonly field: string | null;
  /** What the response says besides. */
  readonly details: Readonly<Record<string, unknown>>;

  /** @param text null: the API's text for the code. */
  constructor(
    code: RefusalCode,
    field: string | null = null,
    text: string | null = null,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(text ?? '');
    this.code = code;
    this.field = field;
    this.details = details;
  }
}
