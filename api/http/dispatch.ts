import type { Context } from 'koa';
import { inject } from 'light-my-request';

export interface OwnRequest {
  method: string;
  /** The path, with encoded parameters. */
  path: string;
  query: Record<string, string>;
  /** A JSON body; undefined: none. */
  body?: Record<string, unknown> | undefined;
}

export interface OwnResponse {
  status: number;
  body: Record<string, unknown>;
}

/** The headers that identify the caller, and the route of the request through proxies. */
const CALLER_HEADERS = ['authorization', 'x-workspace-id', 'x-forwarded-for'];

/**
 * Handles another request of the caller within this process, through all middleware. Credential, address, scopes, limits,
 * metrics and logs are as if the caller had sent it.
 */
export async function dispatch(
  context: Pick<Context, 'app' | 'get' | 'req' | 'state'>,
  { method, path, query, body }: OwnRequest,
): Promise<OwnResponse> {
  const { remoteAddress } = context.req.socket;
  const headers = Object.fromEntries(
    CALLER_HEADERS.flatMap((name) => (context.get(name) === '' ? [] : [[name, context.get(name)]])),
  );
  const response = await inject(context.app.callback(), {
    method,
    url: { pathname: path, query },
    headers: { ...headers, 'x-request-id': String(context.state['requestId']) },
    ...(remoteAddress !== undefined && { remoteAddress }),
    ...(body && { payload: body }),
  });
  return { status: response.statusCode, body: response.json() };
}
