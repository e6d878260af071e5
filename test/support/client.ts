/** A response of the API. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  // Tests read any field; the conformance suite checks the shapes.
  // oxlint-disable-next-line no-explicit-any
  body: any;
}

export interface ApiClient {
  (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse>;
}

/** Calls the API over HTTP with a bearer credential; '' for none. */
export function apiClient(url: string, credential: string): ApiClient {
  return async (method, path, body, headers = {}) => {
    const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(credential !== '' && { authorization: `Bearer ${credential}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(sent !== undefined && { body: sent }),
    });
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      // An event stream does not end; `openEventStream` reads it.
      await response.body?.cancel();
      return { status: response.status, headers: response.headers, body: '' };
    }
    const answer = parse(await response.text());
    if (!response.ok) refuseAddresses(`${path} ${sent}`, answer);
    return { status: response.status, headers: response.headers, body: answer };
  };
}

const ADDRESS = /\+\d{8,15}|[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;

/** Callers log errors, which so must not repeat the addresses of a request. What a carrier says about its own account may. */
function refuseAddresses(request: string, body: unknown): void {
  if (body === null || typeof body !== 'object') return;
  const {
    error,
    code,
    issues = [],
  } = body as { error?: string; code?: string; issues?: { message: string }[] };
  const texts = [error, ...issues.map(({ message }) => message)].join('\n');
  const asked = request.replaceAll('%2B', '+').replaceAll('%40', '@');
  const repeated = texts.match(ADDRESS)?.find((address) => asked.includes(address));
  if (repeated !== undefined && code !== 'CARRIER_NOT_USABLE')
    throw new Error(`an error repeats ${repeated}: ${texts}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
