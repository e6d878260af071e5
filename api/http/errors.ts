import type { z } from 'zod';

/** All errors of the API: status and default message by code. */
export const ERRORS = {
  VALIDATION_ERROR: [400, 'The request is not valid'],
  INVALID_JSON: [400, 'The body is not valid JSON'],
  INCOMPLETE_BODY: [400, 'The connection was closed before the body was complete'],
  NO_ACTIVE_LINE: [
    400,
    'The workspace has no active line for this channel: name a line in fromLineId or activate one',
  ],
  FALLBACK_NOT_CONFIGURED: [
    400,
    'sendFallbackSmsOnFailed needs an SMS fallback: configure it at PATCH /api/workspace/fallback-config',
  ],
  MISSING_NUMBER: [400, 'number is required: the phone number called, in E.164'],
  URL_NOT_ALLOWED: [400, 'The URL is not allowed'],
  UNAUTHORIZED: [401, 'Unauthorized'],
  READ_ONLY: [402, 'READ_ONLY'],
  SUBSCRIPTION_REQUIRED: [402, 'subscription_required'],
  CARD_DECLINED: [402, 'The saved card was declined; nothing has changed'],
  FORBIDDEN_LINE_TYPE: [403, 'forbidden_line_type'],
  AGENCY_KEY_REQUIRED: [403, 'This endpoint needs an agency API key'],
  AGENCY_KEY_WRONG_ENDPOINT: [
    403,
    'Agency API keys work only on GET /api/agency/subaccounts, POST /api/agency/subaccounts, GET /api/agency/lines, POST /api/agency/lines and GET /api/agency/overview',
  ],
  NOT_AN_AGENCY: [403, 'This account is no longer an agency'],
  AGENCY_OWNER_REQUIRED: [403, 'Only the agency owner can do this'],
  AGENCY_DELETE_SESSION_ONLY: [
    403,
    'Only the signed-in agency owner can delete lines; API keys are not accepted',
  ],
  SESSION_REQUIRED: [403, 'This needs a signed-in session; API keys are not accepted'],
  ADMIN_REQUIRED: [403, 'Only an owner or admin of the workspace can do this'],
  INSUFFICIENT_SCOPE: [403, 'The key lacks the scope that this endpoint needs'],
  IP_NOT_ALLOWED: [403, 'The key may not be used from this address'],
  TEST_MODE_ONLY: [403, 'This needs test mode: a key that begins with svc_test_'],
  LIVE_MODE_ONLY: [403, 'This is not available in test mode'],
  WORKSPACE_SUSPENDED: [
    403,
    'The operator of this installation has suspended the workspace; nothing can be changed and nothing is sent',
  ],
  OPERATOR_REQUIRED: [403, 'Only an operator of this installation can do this'],
  LINK_NOT_VALID: [403, 'This link is not valid or has expired'],
  NOT_FOUND: [404, 'Not found'],
  WORKSPACE_NOT_FOUND: [404, 'The agency has no such workspace'],
  AGENCY_NOT_FOUND: [404, 'You do not belong to the agency in the header X-Agency-Id'],
  METHOD_NOT_ALLOWED: [405, 'Method not allowed'],
  ALREADY_SET_UP: [409, 'This installation has an owner already'],
  BILLING_DISABLED: [409, 'There are no plans and payments here: the billing mode is none'],
  NO_CARRIER_FOR_LINE: [409, 'No carrier of this installation provides such a line'],
  PAYMENT_PENDING: [409, 'Another line request awaits payment: pay or cancel it first'],
  CONFLICT: [409, 'The current state of the resource does not allow this'],
  INVALID_STATE: [409, 'The current state does not allow this'],
  QUICK_SENDS_STAYS: [409, 'The list Quick Sends can be neither renamed nor deleted'],
  DUPLICATE_LEAD: [409, 'Another lead of the list has this email or phone'],
  MESSAGE_NOT_CANCELABLE: [409, 'Only a pending or scheduled message can be canceled'],
  UNSUPPORTED_BY_CARRIER: [409, 'The carrier of the line cannot do this'],
  DRAFT_ALREADY_RESOLVED: [409, 'The draft was already resolved'],
  WEBHOOK_INACTIVE: [409, 'The webhook is inactive: set isActive to true first'],
  LAST_WAY_IN: [409, 'This is the last way in which the person can sign in'],
  LIMIT_REACHED: [409, 'The limit is reached'],
  IDEMPOTENCY_KEY_REUSED: [409, 'This Idempotency-Key was used with another body'],
  CONTACT_ERASED: [410, 'The contact that this request was about has been erased'],
  BODY_TOO_LARGE: [413, 'The body is larger than 1 MB'],
  STORAGE_QUOTA_EXCEEDED: [413, 'This file would exceed the storage quota of the workspace'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'The body must be application/json'],
  RANGE_NOT_SATISFIABLE: [416, 'The file does not have the requested range'],
  RATE_LIMITED: [429, 'Rate limit exceeded'],
  INTERNAL_ERROR: [500, 'Internal error'],
  CARRIER_NOT_USABLE: [502, 'The carrier does not work with these settings; nothing has changed'],
  AGENCY_NOT_AVAILABLE: [501, 'Analytics by agency are not available'],
  IDENTITY_PROVIDER_ERROR: [502, 'The identity provider does not let anybody sign in'],
  UNAVAILABLE: [503, 'Temporarily unavailable; try again'],
} as const satisfies Record<string, readonly [status: number, text: string]>;

export type ErrorCode = keyof typeof ERRORS;

export interface Issue {
  path: string;
  message: string;
}

/**
 * An error response. Callers log it, so it names the field or the place that is wrong, never the address of a contact.
 * `text` replaces the default message; `fields` are added to the body.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly fields: Record<string, unknown>;

  constructor(code: ErrorCode, text?: string, fields: Record<string, unknown> = {}) {
    const [status, standardText] = ERRORS[code];
    super(text ?? standardText);
    this.code = code;
    this.status = status;
    this.fields = fields;
  }

  get body(): Record<string, unknown> {
    return { error: this.message, code: this.code, ...this.fields };
  }
}

/** The client has hung up before its request began, and receives no response. */
export class ClientGone extends Error {}

/** A validation error of one field: `recipientPhone: must be …`. */
export const invalid = (path: string, message: string): ApiError => invalidFields([{ path, message }]);

/** The maximum number of issues in a response. Validation stops there. */
export const MAX_ISSUES = 100;

export function invalidFields(issues: Issue[]): ApiError {
  const [first] = issues;
  const text = first && (first.path === '' ? first.message : `${first.path}: ${first.message}`);
  return new ApiError('VALIDATION_ERROR', text, { issues: issues.slice(0, MAX_ISSUES) });
}

export const fromZod = (error: z.ZodError): ApiError => invalidFields(issuesOf(error));

/** zod also checks the size of what has the wrong type. */
export function issuesOf(error: z.ZodError): Issue[] {
  const found = error.issues.slice(0, MAX_ISSUES);
  const at = ({ path }: z.core.$ZodIssue): string => path.join('.');
  const mistyped = new Set(found.filter(({ code }) => code === 'invalid_type').map(at));
  const isSize = ({ code }: z.core.$ZodIssue): boolean => code === 'too_small' || code === 'too_big';
  return found.filter((issue) => !(isSize(issue) && mistyped.has(at(issue)))).flatMap(issuesFrom);
}

/** One issue per field; unrecognized fields are reported by name, not as one issue of their object. */
function issuesFrom(issue: z.core.$ZodIssue): Issue[] {
  const at = (...more: string[]): string => [...issue.path, ...more].join('.');
  if (issue.code !== 'unrecognized_keys') return [{ path: at(), message: issue.message }];
  return issue.keys.map((key) => ({ path: at(key), message: 'is not a recognized field' }));
}
