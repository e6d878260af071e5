import pg from 'pg';
import { connected } from './connected.ts';

const CONNECT_MS = 5000;

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

/** For `awaitPart`: a server that refuses the login answers. */
export const postgresAt = (url: string) => ({
  title: `PostgreSQL at ${new URL(url).host}`,
  async whyAway(): Promise<string | null> {
    try {
      await connected(url, () => Promise.resolve(), { connectionTimeoutMillis: CONNECT_MS });
      return null;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const code = 'code' in error ? String(error.code) : null;
      if (error instanceof pg.DatabaseError) return NOT_YET.has(code ?? '') ? error.message : null;
      // The driver gives its own errors no code: a connection that was not made in time, or ended while it was made.
      return code === null || UNREACHABLE.has(code) ? error.message || code : null;
    }
  },
});
