import { Agent, type ClientRequestArgs, request as open } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Exchange } from './egress-exchange.ts';
import type { Guard } from './egress-guard.ts';
import { isOver, TooLate } from './time-limit.ts';

const DEFAULT_PORTS = { 'http:': 80, 'https:': 443 } as const;

interface ConnectionOptions extends ClientRequestArgs {
  servername?: string;
  /** `signal` is not passed on. A connection of an aborted request would stay open for the next one. */
  until?: AbortSignal;
}

export interface PostOptions {
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
  maxResponseBytes: number;
}

export interface Poster {
  /** Throws if the request is not valid; then nothing was sent. */
  post(url: URL, options: PostOptions): Promise<Exchange>;
  close(): void;
}

/**
 * Like `exchange`, for endpoints of tenants. By `node:http`, because undici closes the connection at an unasked `100 Continue`, which
 * clients have to accept (RFC 9110, 15.2).
 */
export function createPoster(guard: Guard, { connectionsPerOrigin = 0, idleMs = 0 }): Poster {
  function agentFor(protocol: keyof typeof DEFAULT_PORTS): Agent {
    const agent = new Agent({ keepAlive: true, maxSockets: connectionsPerOrigin, timeout: idleMs });
    agent.createConnection = (options: ConnectionOptions, opened) => {
      const { host, port, servername, until } = options;
      const hostname = host ?? '';
      const target = {
        hostname,
        host: hostname,
        protocol,
        port: String(port ?? ''),
        ...(servername && { servername }),
      };
      guard.connect(target, (error, socket) => {
        if (!socket || !until || !isOver(until)) return opened?.(error, socket as Duplex);
        socket.destroy();
        opened?.(new Error('aborted while connecting'), socket);
      });
      return undefined;
    };
    // The guard's connections speak TLS themselves.
    return Object.assign(agent, { protocol, defaultPort: DEFAULT_PORTS[protocol] });
  }
  const agents = { 'http:': agentFor('http:'), 'https:': agentFor('https:') };

  return {
    post(url, { headers, body, signal, maxResponseBytes }) {
      const { promise, resolve } = Promise.withResolvers<Exchange>();
      const chunks: Buffer[] = [];
      let size = 0;
      let status: number | null = null;
      let connected = false;
      let retryAfter: string | null = null;
      const agent = url.protocol === 'https:' ? agents['https:'] : agents['http:'];
      const options: ConnectionOptions = { method: 'POST', headers, agent, signal, until: signal };
      const sent = open(url, options);

      function settle(error: unknown): void {
        signal.removeEventListener('abort', giveUp);
        const text = Buffer.concat(chunks).subarray(0, maxResponseBytes).toString('utf8');
        resolve({ status, error, connected, body: text, retryAfter });
      }
      // While it is connecting, an aborted request reports nothing.
      const giveUp = (): void => settle(signal.reason);
      signal.addEventListener('abort', giveUp, { once: true });

      sent.on('socket', () => {
        // Nothing has been written yet.
        if (isOver(signal)) sent.destroy(new TooLate());
        else connected = true;
      });
      sent.on('error', settle);
      sent.on('close', () => settle(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
      sent.on('response', (response) => {
        status = response.statusCode ?? null;
        retryAfter = response.headers['retry-after'] ?? null;
        response.on('error', settle);
        response.on('end', () => settle(null));
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size <= maxResponseBytes) return;
          settle(null);
          sent.destroy();
        });
      });
      sent.end(body);
      return promise;
    },

    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}
