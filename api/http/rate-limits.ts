import type pg from 'pg';
import {
  BurstyRateLimiter,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRes,
} from 'rate-limiter-flexible';
import { ApiError } from './errors.ts';
import { perMinute, type RateLimit } from './route.ts';

/** Every limit of the API, counted per endpoint and workspace. */
export interface RateLimits {
  /**
   * Counts one request.
   * @returns the headers that tell where the caller stands.
   * @throws RATE_LIMITED, with `Retry-After` among its headers.
   */
  consume(routeId: string, caller: string, limit: RateLimit): Promise<Record<string, string>>;
  /** Counts a credential, a link or a signature that was wrong. @throws RATE_LIMITED after too many of one client. */
  countFailure(client: string): Promise<void>;
  /** The backstop of bulk intake: 1,000 a second sustained, 10,000 in a burst; of this process alone. */
  consumeIntake(caller: string): Promise<void>;
}

export function createRateLimits(pool: pg.Pool, failuresPerMinute: number): RateLimits {
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
        // What is over its limit stays so without asking the database.
        inMemoryBlockOnConsumed: requests,
        // The database out of reach is no reason to refuse: each process counts for itself meanwhile.
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

  async function consume(routeId: string, caller: string, limit: RateLimit): Promise<Record<string, string>> {
    try {
      return standing(limit, await limiterOf(routeId, limit).consume(caller));
    } catch (refusal) {
      throw refused(refusal, standing(limit, refusal));
    }
  }

  return {
    consume,
    async countFailure(client) {
      await consume('failed-attempt', client, perMinute(failuresPerMinute));
    },
    async consumeIntake(caller) {
      await intake.consume(caller).catch((refusal: unknown) => {
        throw refused(refusal, {});
      });
    },
  };
}

function standing(limit: RateLimit, result: unknown): Record<string, string> {
  if (!(result instanceof RateLimiterRes)) return {};
  return {
    'RateLimit-Limit': String(limit.requests),
    'RateLimit-Remaining': String(Math.max(0, result.remainingPoints)),
    'RateLimit-Reset': String(Math.ceil(result.msBeforeNext / 1000)),
  };
}

/** A refusal with what the caller needs to come back in time; anything else the limiter threw stays what it is. */
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
