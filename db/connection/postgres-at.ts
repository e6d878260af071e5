import pg from 'pg';
import { UnusableDatabaseError } from './pools.ts';

/** Too many connections; the server starts or stops. */
const NOT_YET = new Set(['53300', '57P01', '57P02', '57P03']);
const UNREACHABLE = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

/** For `connectTo`. A server that refuses the login answers. */
export const postgresAt = (url: string) => ({
  title: `PostgreSQL at ${new URL(url).host}`,
  whyAway(error: unknown): string | null {
    if (!(error instanceof UnusableDatabaseError) || !(error.cause instanceof Error)) return null;
    const { cause } = error;
    const code = 'code' in cause ? String(cause.code) : null;
    if (cause instanceof pg.DatabaseError) return NOT_YET.has(code ?? '') ? cause.message : null;
    // The driver gives its own errors no code: a connection that was not made in time, or ended while it was made.
    return code === null || UNREACHABLE.has(code) ? cause.message || code : null;
  },
});
