import { Agent, request } from 'undici';
import { z } from 'zod';
import { exchange, type Exchange } from '../egress-exchange.ts';
import type { Guard } from '../egress-guard.ts';
import { timeLimit } from '../time-limit.ts';
import { caCertificatesOf } from './ca-certificates.ts';
import { HTTP_PORTS, type CarrierMedia, type CarrierServer, type SendOutcome } from './carrier.ts';
import { MAX_OBJECT_BYTES, MAX_PAGE_BYTES, mediaOf, rangeFrom } from './http-response.ts';
import { createTrustingAgents } from './trusting-agents.ts';

export interface HostedCarrierOptions {
  /** The API's address, which a line's settings can override. */
  baseUrl?: string;
  /** Checks connections to servers from lines' settings. */
  guard?: Guard;
  timeoutMs?: number;
  clock?: () => Date;
}

const QUESTION_TIMEOUT_MS = 10_000;
const HOSTED_TIMEOUT_MS = 15_000;

/** The settings that name another server. @param whose for example `Telnyx’s`. */
export const ownServerOf = (whose: string) => ({
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ description: `Only for a server other than ${whose} that speaks its API.` }),
  caCertificates: caCertificatesOf('server'),
});

interface Settings {
  baseUrl?: string | undefined;
  caCertificates?: string | undefined;
}

interface HostedRequest {
  /** Sent as JSON. */
  body?: unknown;
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Default: that of a question. */
  signal?: AbortSignal;
  maxBytes?: number;
}

/** The JSON API of a carrier that is a service. */
export interface HostedApi<Config extends Settings> {
  readonly timeoutMs: number;
  now(): Date;
  /** The host that is asked. */
  hostOf(config: Config): string;
  servers(config: Config): Record<string, CarrierServer>;
  call(config: Config, path: string, request: HostedRequest): Promise<Exchange>;
  /** Asks for something that the path and the query name. */
  ask(
    config: Config,
    path: string,
    query?: Record<string, string>,
    request?: HostedRequest,
  ): Promise<Exchange>;
  /** Calls with the time limit of a send. */
  send(
    config: Config,
    path: string,
    request: HostedRequest & { body: unknown; signal: AbortSignal },
  ): Promise<Exchange>;
  /** A file at an address that a verified callback named. No credentials are sent, as it may be anywhere. */
  openMedia(url: string, signal: AbortSignal, from?: number): Promise<CarrierMedia>;
  close(): Promise<void>;
}

/** @param headersOf the headers with the credentials of a line. */
export function createHostedApi<Config extends Settings>(
  defaultUrl: string,
  headersOf: (config: Config) => Record<string, string>,
  {
    baseUrl = defaultUrl,
    guard,
    timeoutMs = HOSTED_TIMEOUT_MS,
    clock = () => new Date(),
  }: HostedCarrierOptions,
): HostedApi<Config> {
  const connections = { connections: 64, headersTimeout: 0, bodyTimeout: 0 };
  const agent = new Agent({ ...connections, ...(guard && { connect: guard.connect }) });
  const trusting = createTrustingAgents(
    (ca) => new Agent({ ...connections, connect: guard ? guard.connectTrusting(ca) : { ca } }),
  );
  const agentOf = ({ baseUrl: own, caCertificates: pem }: Settings): Agent =>
    own === undefined || pem === undefined ? agent : trusting.of(pem);
  const addressOf = (config: Settings): URL => new URL(config.baseUrl ?? baseUrl);

  const call: HostedApi<Config>['call'] = async (config, path, { body, ...options }) => {
    const { origin, pathname } = addressOf(config);
    const { method = body === undefined ? 'GET' : 'POST', maxBytes = MAX_PAGE_BYTES } = options;
    return exchange(
      agentOf(config),
      {
        origin,
        path: pathname.replace(/\/$/, '') + path,
        method,
        headers: {
          accept: 'application/json',
          ...headersOf(config),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      },
      options.signal ?? AbortSignal.timeout(QUESTION_TIMEOUT_MS),
      maxBytes,
    );
  };

  return {
    timeoutMs,
    now: clock,
    hostOf: (config) => addressOf(config).host,
    servers: (config) =>
      config.baseUrl === undefined ? {} : { baseUrl: { url: config.baseUrl, ports: HTTP_PORTS } },
    call,
    ask: (config, path, query = {}, request = {}) =>
      call(config, `${path}?${new URLSearchParams(query).toString()}`, request),
    send: (config, path, sent) =>
      call(config, path, {
        maxBytes: MAX_OBJECT_BYTES,
        ...sent,
        signal: timeLimit(timeoutMs, sent.signal),
      }),
    openMedia: async (url, signal, from = 0) =>
      mediaOf(await request(url, { dispatcher: agent, signal, headers: rangeFrom(from) }), from),
    async close() {
      await Promise.all([agent.destroy(), trusting.destroy()]);
    },
  };
}

/** The outcome of a send that got no complete response; null: it got one. */
export function unanswered({ connected, error, status }: Exchange, reason: string): SendOutcome | null {
  if (!connected) return { kind: 'transient', reason };
  return error !== null || status === null ? { kind: 'unknown', reason } : null;
}
