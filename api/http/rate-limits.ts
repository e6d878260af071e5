// oxlint-disable-next-line no-restricted-imports -- rate-limiter-flexible has its own SQL and takes a pool of node-postgres
import pg from 'pg';
import type { Logger } from 'pino';
import {
  BurstyRateLimiter,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRes,
} from 'rate-limiter-flexible';
import { createFairQueue } from '#domain/base/fair-queue.ts';
import { ApiError } from './errors.ts';

/** Requests per workspace (or agency) and endpoint, counted across all API processes. */
export interface RateLimit {
  requests: number;
  seconds: number;
}
/** The backstop of bulk intake, instead of a limit of requests. */
export const INTAKE = 'intake';
const BYTES_PER_POINT = 4096;
/** The cost of a body beyond the one point that its request costs before it is read. */
export const furtherPoints = (bytes: number): number => Math.ceil(bytes / BYTES_PER_POINT) - 1;

/** Higher in test mode, where programs do not wait for people. */
export const TEST_LIMIT: RateLimit = { requests: 600, seconds: 60 };

export const perMinute = (requests: number): RateLimit => ({ requests, seconds: 60 });

/** Rate limits, counted per endpoint and workspace. */
export interface RateLimits {
  /**
   * Counts one request, as one point or more.
   * @returns the `RateLimit-*` headers.
   * @throws RATE_LIMITED with a `Retry-After` header.
   */
  consume(
    routeId: string,
    caller: string,
    limit: RateLimit,
    points?: number,
  ): Promise<Record<string, string>>;
  /** Counts an invalid credential, link or signature. @throws RATE_LIMITED after too many from one client. */
  countFailure(client: string): Promise<void>;
  /**
   * The backstop of bulk intake: 1,000 points per second sustained, 10,000 in a burst; counted per process. A request
   * costs a point for each 4 KB begun.
   */
  consumeIntake(caller: string, points?: number): Promise<void>;
  /**
   * Counts a callback of a line's carrier whose secret is right: 100 per second sustained, 1,000 in a burst, which no line
   * causes; counted per process. Carriers repeat what is refused. @throws RATE_LIMITED
   */
  consumeCallback(lineId: string): Promise<void>;
  /**
   * Whether a visit of a public page is counted: ten of one client in a minute are, so that a flood of visits causes no flood
   * of writes. Counted per process.
   */
  countsVisit(client: string, pageId: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Connections for counting. A request that gets none within the timeout is refused. */
const SIZE = 3;
const TIMEOUT_MS = 5000;

export function createRateLimits(systemUrl: string, failuresPerMinute: number, logger: Logger): RateLimits {
  const pool = new pg.Pool({
    connectionString: systemUrl,
    max: SIZE,
    connectionTimeoutMillis: TIMEOUT_MS,
    statement_timeout: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS + 1000,
    keepAlive: true,
  });
  pool.on('error', (error) => logger.warn({ error }, 'a rate limit connection was lost'));
  // Requests of one caller to one endpoint wait for the row that counts them.
  const turns = createFairQueue({ size: SIZE, share: SIZE - 1, maxWaiting: 10_000, timeoutMs: TIMEOUT_MS });
  const limiters = new Map<string, RateLimiterPostgres>();
  const limiterOf = (routeId: string, { requests, seconds }: RateLimit): RateLimiterPostgres => {
    let limiter = limiters.get(routeId);
    if (!limiter) {
      limiter = new RateLimiterPostgres({
        storeClient: pool,
        tableName: 'rate_limits',
        tableCreated: true,
        keyPrefix: routeId,
        points: requests,
        duration: seconds,
        // A caller over its limit is refused without querying the database.
        inMemoryBlockOnConsumed: requests,
        // If the database is unreachable, each process counts in memory instead of refusing.
        insuranceLimiter: new RateLimiterMemory({ points: requests, duration: seconds }),
      });
      limiters.set(routeId, limiter);
    }
    return limiter;
  };
  const intake = new BurstyRateLimiter(
    new RateLimiterMemory({ points: 1000, duration: 1 }),
    new RateLimiterMemory({ points: 10_000, duration: 60 }),
  );
  const callbacks = new BurstyRateLimiter(
    new RateLimiterMemory({ points: 100, duration: 1 }),
    new RateLimiterMemory({ points: 1000, duration: 60 }),
  );

  const visits = new RateLimiterMemory({ points: 10, duration: 60 });

  async function consume(
    routeId: string,
    caller: string,
    limit: RateLimit,
    points = 1,
  ): Promise<Record<string, string>> {
    try {
      const limiter = limiterOf(routeId, limit);
      return rateLimitHeaders(limit, await turns.run(caller, () => limiter.consume(caller, points)));
    } catch (refusal) {
      throw refused(refusal, rateLimitHeaders(limit, refusal));
    }
  }

  return {
    consume,
    async countFailure(client) {
      await consume('failed-attempt', client, perMinute(failuresPerMinute));
    },
    async consumeIntake(caller, points = 1) {
      await intake.consume(caller, points).catch((refusal: unknown) => {
        throw refused(refusal, {});
      });
    },
    async consumeCallback(lineId) {
      await callbacks.consume(lineId).catch((refusal: unknown) => {
        throw refused(refusal, {});
      });
    },
    countsVisit: (client, pageId) =>
      visits.consume(`${pageId} ${client}`).then(
        () => true,
        () => false,
      ),
    close: () => pool.end(),
  };
}

function rateLimitHeaders(limit: RateLimit, result: unknown): Record<string, string> {
  if (!(result instanceof RateLimiterRes)) return {};
  return {
    'RateLimit-Limit': String(limit.requests),
    'RateLimit-Remaining': String(Math.max(0, result.remainingPoints)),
    'RateLimit-Reset': String(Math.ceil(result.msBeforeNext / 1000)),
  };
}

/** Adds `Retry-After` to a refusal; other errors are returned unchanged. */
function refused(refusal: unknown, headers: Record<string, string>): unknown {
  if (!(refusal instanceof RateLimiterRes)) return refusal;
  const retryAfter = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
  return new RateLimited({ ...headers, 'Retry-After': String(retryAfter) });
}

export class RateLimited extends ApiError {
  readonly headers: Record<string, string>;

  constructor(headers: Record<string, string>) {
    super('RATE_LIMITED');
    this.headers = headers;
  }
}
