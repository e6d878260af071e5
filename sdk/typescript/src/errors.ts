import type { ErrorCode } from './generated/facts.gen.ts';

interface ErrorBody {
  error?: string;
  code?: ErrorCode;
  requestId?: string;
  issues?: { path: string; message: string }[];
}

/** A response with an error status. */
export class LinepaceError extends Error {
  override readonly name = 'LinepaceError';
  /** The HTTP status. */
  readonly status: number;
  /** A stable code for programs; undefined if something between the client and the API responded. */
  readonly code: ErrorCode | undefined;
  /** The fields that are not valid, of `VALIDATION_ERROR`. */
  readonly issues: readonly { path: string; message: string }[];
  /** Identifies the request in the logs of the server. */
  readonly requestId: string | undefined;
  /** The whole body, with the fields of single codes, such as `limit` of `LIMIT_REACHED`. */
  readonly body: Readonly<Record<string, unknown>>;

  constructor(response: Response, body: unknown) {
    const known = (typeof body === 'object' && body !== null ? body : {}) as ErrorBody;
    const issues = known.issues ?? [];
    // The text of the response says the first one.
    const others = issues.slice(1).map(({ path, message }) => `${path}: ${message}`);
    super([known.error ?? `HTTP ${response.status}`, ...others].join('; '));
    this.status = response.status;
    this.code = known.code;
    this.issues = issues;
    this.requestId = known.requestId ?? response.headers.get('X-Request-Id') ?? undefined;
    this.body = known as Record<string, unknown>;
  }
}

/** No response arrived: the connection failed, or the request timed out, after all retries. */
export class LinepaceConnectionError extends Error {
  override readonly name = 'LinepaceConnectionError';
}
