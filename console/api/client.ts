import { t } from '@lingui/core/macro';
import type { Endpoint, RequestTo, ResponseOf } from './routes.ts';
import { textOfCode, textOfIssue } from './failure-texts.ts';
import { isAway } from './presence.ts';
import { currentSession, type Session, setSession } from './session.ts';

export interface Issue {
  path: string;
  message: string;
}

let serverAhead = 0;

/** The server's time, to the second: a clock of a computer may be minutes off. */
export const serverTime = (): Date => new Date(Date.now() + serverAhead);

function noteServerTime(date: string | null): void {
  const at = Date.parse(date ?? '');
  if (!Number.isNaN(at)) serverAhead = at - Date.now();
}

/** An error response of the API. `status` is 0 if the server was not reached. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly status: number;
  readonly code: string | null;
  /** The invalid fields, by their path in the body. */
  readonly issues: readonly Issue[];
  readonly requestId: string | null;
  /** When the request may be sent again, from a `429` response. */
  readonly retryAfterMs: number | null;

  constructor(
    status: number,
    body: { error?: string; code?: string; issues?: Issue[]; requestId?: string },
    retryAfter: string | null = null,
  ) {
    super(messageOf(body));
    this.status = status;
    this.code = body.code ?? null;
    this.issues = (body.issues ?? []).map(({ path, message }) => ({ path, message: textOfIssue(message) }));
    this.requestId = body.requestId ?? null;
    this.retryAfterMs = retryAfter === null ? null : Number(retryAfter) * 1000;
  }
}

function messageOf({
  error,
  code,
  issues = [],
}: {
  error?: string;
  code?: string;
  issues?: Issue[];
}): string {
  const [first] = issues;
  // The API's message is then about the first of them.
  if (first && error === `${first.path}: ${first.message}`)
    return `${first.path}: ${textOfIssue(first.message)}`;
  return (
    textOfCode(code, error) ?? error ?? t`The server did not answer. Check your connection and try again.`
  );
}

/** Whether what was asked for is refused because the workspace does not send and change anything at present. */
export const isStopped = (error: unknown): boolean =>
  error instanceof ApiFailure &&
  ['READ_ONLY', 'SUBSCRIPTION_REQUIRED', 'WORKSPACE_SUSPENDED'].includes(error.code ?? '');

/** Whether what was asked for is no longer there. */
export const isNotFound = (error: unknown): boolean => error instanceof ApiFailure && error.status === 404;

/** Nobody waits for them: others go first while the browser, which opens six connections, has none left. */
const UNHURRIED: ReadonlySet<Endpoint> = new Set<Endpoint>([
  'GET /api/attention',
  'GET /api/conversations/counts',
  'POST /api/conversations/{address}/presence',
  'POST /api/conversations/{address}/read',
]);

interface Options {
  signal?: AbortSignal;
  /** A retry with the same key has no second effect. */
  idempotencyKey?: string;
}

/** The parts of any request. */
interface Parts {
  params?: object | undefined;
  query?: object | undefined;
  body?: unknown;
}

/**
 * Sends a request to an endpoint of the API, whose declaration gives the types of the parameters, the query, the body and
 * the response: `request('GET /api/messages/{id}', { params: { id } })`.
 * @throws ApiFailure
 */
export async function request<E extends Endpoint>(
  endpoint: E,
  parts: RequestTo<E>,
  { signal, idempotencyKey }: Options = {},
): Promise<ResponseOf<E>> {
  const [method = '', path = ''] = endpoint.split(' ');
  const { params, query, body } = parts as Parts;
  const response = await send(method, addressOf(path, params, query), {
    ...(signal && { signal }),
    ...(UNHURRIED.has(endpoint) && { priority: 'low' }),
    headers: {
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return (await response.json()) as ResponseOf<E>;
}

/**
 * Sends any request with the credential of the tab, for uploads, downloads and streams. Signs out if it is rejected.
 * @throws ApiFailure
 */
export async function send(
  method: string,
  address: string,
  { headers, ...init }: Omit<RequestInit, 'method' | 'headers'> & { headers?: Record<string, string> } = {},
): Promise<Response> {
  const session = currentSession();
  const response = await fetch(address, {
    ...init,
    method,
    headers: {
      ...headersOf(session),
      ...headers,
    },
    // The cookie of a session counts only with its id.
    credentials: 'same-origin',
  }).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'AbortError') throw error;
    throw new ApiFailure(0, {});
  });
  noteServerTime(response.headers.get('date'));
  if (response.ok) return response;
  // Only if it is still the session of the request: it may have been replaced meanwhile.
  if (response.status === 401 && session && currentSession() === session) setSession(null, 'ended');
  const { status } = response;
  const body = (await response.json().catch(() => ({ error: t`The server answered ${status}` }))) as object;
  throw new ApiFailure(status, body, response.headers.get('retry-after'));
}

/** What a request of a session sends. */
export const headersOf = (session: Session | null): Record<string, string> => ({
  ...credentialOf(session),
  ...(session?.workspaceId && { 'X-Workspace-Id': session.workspaceId }),
});

function credentialOf(session: Session | null): Record<string, string> {
  if (!session) return {};
  if (session.token !== null) return { Authorization: `Bearer ${session.token}` };
  return {
    'X-Console-Session': session.sessionId ?? '',
    ...(isAway() && { 'X-Console-Background': '1' }),
  };
}

/** Fills in the path parameters and appends the query. */
export function addressOf(path: string, params: object = {}, query: object = {}): string {
  const values = params as Record<string, string>;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  return search.size === 0 ? filled : `${filled}?${search}`;
}
