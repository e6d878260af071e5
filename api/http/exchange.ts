import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type Koa from 'koa';
import { ApiError } from './errors.ts';

/** A request and its response, as the middleware and the frequent routes read and write them. */
export type Exchange = Koa.Context | DirectExchange;

export type Middleware = (exchange: Exchange, next: () => Promise<void>) => Promise<void>;

/** Middleware like Koa's. The last one gets a `next` that does nothing. */
export const composed =
  (middleware: readonly Middleware[]): ((exchange: Exchange) => Promise<void>) =>
  (exchange) => {
    const run = async (index: number): Promise<void> => middleware[index]?.(exchange, () => run(index + 1));
    return run(0);
  };

/** Larger bodies are parsed in turns of the event loop, and cost more of the limit. In bytes. */
const MAX_LENGTH = 4096;
const TYPES: readonly (string | undefined)[] = ['application/json', 'application/json; charset=utf-8'];

/** Whether a request does not need Koa: it has a small JSON body of known length that is neither encoded nor chunked. */
function isSimple({ headers }: IncomingMessage): boolean {
  const length = Number(headers['content-length'] ?? 0);
  return (
    length > 0 &&
    length <= MAX_LENGTH &&
    TYPES.includes(headers['content-type']) &&
    headers['content-encoding'] === undefined &&
    headers['transfer-encoding'] === undefined
  );
}

/** A route that is called so often that Koa would be the largest cost. */
export interface FrequentRoute {
  method: string;
  /** In OpenAPI syntax. */
  path: string;
  answer(exchange: Exchange): Promise<void>;
}

/**
 * Answers the simple requests of some routes without Koa, whose context, body reader and response cost more than what the
 * application does, and its router even more. All other requests go to Koa, with the same middleware.
 */
export function withoutKoa(app: Koa, routes: readonly FrequentRoute[]): RequestListener {
  const koa = app.callback();
  const find = routeFinder(routes);
  return (request, response) => {
    const found = isSimple(request) ? find(request) : null;
    if (!found) {
      void koa(request, response);
      return;
    }
    const exchange = new DirectExchange(app, request, response, found.params);
    found.route
      .answer(exchange)
      .then(() => exchange.send())
      .catch((error: unknown) => {
        app.emit('error', error, exchange);
        response.destroy();
      });
  };
}

type Params = Readonly<Record<string, string>>;
interface Found {
  route: FrequentRoute;
  params: Params;
}

/** The characters of a path parameter that need no decoding. */
const PLAIN = /^[\w-]+$/;

/** Finds the route of a request. The routes are few, so they are tried in turn. */
function routeFinder(routes: readonly FrequentRoute[]): (request: IncomingMessage) => Found | null {
  const patterns = routes.map((route) => ({ route, parts: route.path.split('/') }));
  return ({ method, url = '' }) => {
    for (const { route, parts } of patterns) {
      const params = route.method === method ? paramsOf(parts, url) : null;
      if (params) return { route, params };
    }
    return null;
  };
}

/** @returns null if the URL has another path, or a query. */
function paramsOf(parts: readonly string[], url: string): Params | null {
  const given = url.split('/');
  if (given.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    const value = given[index] ?? '';
    if (!part.startsWith('{')) {
      if (value !== part) return null;
    } else if (PLAIN.test(value)) params[part.slice(1, -1)] = value;
    else return null;
  }
  return params;
}

/** A simple request and its response. */
export class DirectExchange {
  readonly app: Koa;
  readonly req: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #headers: Record<string, string | string[]> = {};
  readonly state: Record<string, unknown> = {};
  readonly params: Params;
  readonly query: Koa.Context['query'] = {};
  status = 404;
  body: unknown = undefined;
  type = 'application/json';

  constructor(app: Koa, request: IncomingMessage, response: ServerResponse, params: Params) {
    this.app = app;
    this.req = request;
    this.#response = response;
    this.params = params;
  }

  get method(): string {
    return this.req.method ?? '';
  }

  get url(): string {
    return this.req.url ?? '';
  }

  /** The URL has no query. */
  get path(): string {
    return this.url;
  }

  get headers(): IncomingMessage['headers'] {
    return this.req.headers;
  }

  /** Determined as Koa does. */
  get ip(): string {
    const forwarded = this.app.proxy ? this.get('x-forwarded-for') : '';
    // Trimmed afterwards: a pattern with spaces takes time that grows with the square of their number.
    const first = forwarded.split(',').slice(-this.app.maxIpsCount)[0]?.trim() ?? '';
    return first === '' ? (this.req.socket.remoteAddress ?? '') : first;
  }

  get(name: string): string {
    const value = this.req.headers[name.toLowerCase()];
    return (Array.isArray(value) ? value[0] : value) ?? '';
  }

  set(fields: string | Record<string, string | string[]>, value?: string | string[]): void {
    if (typeof fields !== 'string') Object.assign(this.#headers, fields);
    else if (value !== undefined) this.#headers[fields] = value;
  }

  /** The bytes of the body. @throws INVALID_JSON if it ends early. */
  readBytes(): Promise<Buffer> {
    const { req } = this;
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      const fail = (): void => reject(new ApiError('INVALID_JSON'));
      req.on('data', (chunk: Buffer) => void chunks.push(chunk));
      req.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
      req.on('error', fail);
      req.on('close', () => req.complete || fail());
    });
  }

  send(): void {
    const body = typeof this.body === 'string' ? this.body : JSON.stringify(this.body);
    this.#response.writeHead(this.status, {
      ...this.#headers,
      'Content-Type': `${this.type}; charset=utf-8`,
      'Content-Length': Buffer.byteLength(body),
    });
    this.#response.end(body);
  }
}
