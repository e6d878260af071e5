import type { Logger } from 'pino';
import { setClock } from '#domain/clock.ts';
import type { Pools } from './pools.ts';
import { readClock } from './queries/readiness.ts';
import { systemDb } from './transactions.ts';

const EVERY_MS = 10_000;
/** Until PostgreSQL has responded for the first time. */
const SOON_MS = 500;
/** The time is known to half of the round trip. A slower response does not replace an earlier one. */
const MAX_ROUND_TRIP_MS = 200;

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
      const { at, readAt, roundTripMs } = await readClock(systemDb(pools));
      if (!isSet || roundTripMs <= MAX_ROUND_TRIP_MS) setClock(at, readAt);
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
