import type { Logger } from 'pino';
import { sql } from 'slonik';
import { z } from 'zod';
import { setClock } from '#domain/base/clock.ts';
import type { Pools } from './pools.ts';
import { type SystemDb, systemDb } from './transactions.ts';

const EVERY_MS = 10_000;
/** Until PostgreSQL has responded for the first time. */
const SOON_MS = 500;

export interface RunningClock {
  /** Resolves after the first reading, or when it has failed. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

/** Sets the clock of this process by PostgreSQL's, now and every ten seconds. */
export function startClock(pools: Pools, logger: Pick<Logger, 'warn'>): RunningClock {
  let [isSet, hasStopped] = [false, false];
  let timer: NodeJS.Timeout | undefined;
  let reading = read();

  async function read(): Promise<void> {
    try {
      const { at, readAt, precisionMs } = await readClock(systemDb(pools));
      setClock(at, readAt, precisionMs);
      isSet = true;
    } catch (error) {
      if (!hasStopped) logger.warn({ error }, 'the clock of the database cannot be read');
    }
    if (hasStopped) return;
    const again = (): void => void (reading = read());
    timer = setTimeout(again, isSet ? EVERY_MS : SOON_MS).unref();
  }

  return {
    ready: reading,
    async stop() {
      hasStopped = true;
      clearTimeout(timer);
      await reading;
    },
  };
}

const ClockRow = z.object({ at: z.date() });

/** PostgreSQL's time, and the value of `performance.now()` to which it belongs, give or take `precisionMs`. */
interface ClockReading {
  at: Date;
  readAt: number;
  precisionMs: number;
}

/** Reads twice, because the first query may have waited for a new connection, and returns the more precise reading. */
export async function readClock(db: Pick<SystemDb, 'oneFirst'>): Promise<ClockReading> {
  const [first, second] = [await readOnce(db), await readOnce(db)];
  return second.precisionMs < first.precisionMs ? second : first;
}

async function readOnce(db: Pick<SystemDb, 'oneFirst'>): Promise<ClockReading> {
  const before = performance.now();
  const at = await db.oneFirst(sql.type(ClockRow)`select clock_timestamp() at`);
  const precisionMs = (performance.now() - before) / 2;
  return { at, readAt: before + precisionMs, precisionMs };
}
