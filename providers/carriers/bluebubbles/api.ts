import { Agent, FormData, request, Request as HttpRequest } from 'undici';
import { z } from 'zod';
import { exchange, type Exchange } from '../../egress-exchange.ts';
import type { Guard } from '../../egress-guard.ts';
import { caCertificatesOf } from '../ca-certificates.ts';
import type { CarrierMedia } from '../carrier.ts';
import { failureReason, MAX_OBJECT_BYTES, mediaOf, rangeFrom, readJson } from '../http-response.ts';
import { createTrustingAgents } from '../trusting-agents.ts';
import { ErrorResponse } from './protocol.ts';

/** The BlueBubbles server on the line's Mac. */
export const BlueBubblesConfig = z.object({
  url: z
    .url({ protocol: /^https?$/ })
    .meta({ description: 'The Server URL that the BlueBubbles server shows.' }),
  password: z.string().min(1).meta({ secret: true, description: 'The server password.' }),
  /** Part of the callback URL, because the server does not sign its callbacks. */
  callbackSecret: z.string().min(16).meta({ secret: true }),
  method: z
    .enum(['apple-script', 'private-api'])
    .default('apple-script')
    .meta({ description: 'The Private API requires its helper on the Mac; AppleScript requires nothing.' }),
  caCertificates: caCertificatesOf('server'),
});
export type BlueBubblesConfig = z.infer<typeof BlueBubblesConfig>;

const QUERY_TIMEOUT_MS = 10_000;

/** The REST API of the servers on the lines' Macs. */
export interface BlueBubblesApi {
  call(
    config: BlueBubblesConfig,
    path: string,
    request: { body?: unknown; signal: AbortSignal; method?: 'GET' | 'POST' | 'DELETE'; maxBytes?: number },
  ): Promise<Exchange>;
  /** Asks what the server knows at once. */
  query(config: BlueBubblesConfig, path: string, request?: QueryRequest): Promise<Exchange>;
  /** A file, at a path of the server. */
  download(config: BlueBubblesConfig, path: string, signal: AbortSignal, from: number): Promise<CarrierMedia>;
  close(): Promise<void>;
}

interface QueryRequest {
  body?: unknown;
  method?: 'DELETE';
  maxBytes?: number;
}

export function createBlueBubblesApi(guard: Guard | undefined): BlueBubblesApi {
  // No connection reuse: a message written to a connection that the server is closing would have an unknown outcome.
  const openAgent = (ca?: string[]): Agent =>
    new Agent({
      connections: 32,
      pipelining: 0,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: guard ? (ca ? guard.connectTrusting(ca) : guard.connect) : { ...(ca && { ca }) },
    });
  const agent = openAgent();
  const trusting = createTrustingAgents(openAgent);
  const agentOf = ({ caCertificates: pem }: BlueBubblesConfig): Agent =>
    pem === undefined ? agent : trusting.of(pem);

  const call: BlueBubblesApi['call'] = async (
    config,
    path,
    { body, signal, method = body === undefined ? 'GET' : 'POST', maxBytes = MAX_OBJECT_BYTES },
  ) => {
    const url = addressOf(config, path);
    const { contentType, content } = await encode(body);
    return exchange(
      agentOf(config),
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: contentType === null ? {} : { 'content-type': contentType },
        ...(content !== null && { body: content }),
      },
      signal,
      maxBytes,
    );
  };

  return {
    call,
    query: (config, path, request = {}) =>
      call(config, path, { ...request, signal: AbortSignal.timeout(QUERY_TIMEOUT_MS) }),
    download: async (config, path, signal, from) =>
      mediaOf(
        await request(addressOf(config, path), {
          dispatcher: agentOf(config),
          signal,
          headers: rangeFrom(from),
        }),
        from,
      ),
    async close() {
      await Promise.all([agent.destroy(), trusting.destroy()]);
    },
  };
}

function addressOf({ url, password }: BlueBubblesConfig, path: string): URL {
  const { origin, pathname } = new URL(url);
  const address = new URL(`${origin}${pathname.replace(/\/$/, '')}/api/v1${path}`);
  address.searchParams.set('password', password);
  return address;
}

async function encode(
  body: unknown,
): Promise<{ contentType: string | null; content: string | Buffer | null }> {
  if (body === undefined) return { contentType: null, content: null };
  if (!(body instanceof FormData)) return { contentType: 'application/json', content: JSON.stringify(body) };
  const form = new HttpRequest('http://form', { method: 'POST', body });
  return { contentType: form.headers.get('content-type'), content: Buffer.from(await form.arrayBuffer()) };
}

export function reasonOf(response: Exchange): string {
  const body = readJson(response, ErrorResponse);
  return failureReason(response, body?.error?.message ?? body?.message);
}
