import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../fault.ts';

const DATABASE_AWAY_MS = 20_000;
/** The alerts wait for two minutes. */
const AWAY_MS = 140_000;

export const databaseRestart: Fault = {
  name: 'database',
  text: `PostgreSQL crashes and is away for ${DATABASE_AWAY_MS / 1000} s, as in a failover`,
  seconds: 40,
  alerts: [],
  // Its requests are answered 503.
  mayAlert: ['LinepaceApiErrors'],
  async run({ installation: { database, publicUrl } }) {
    await database.kill();
    await pause(DATABASE_AWAY_MS / 2);
    const { status } = await fetch(`${publicUrl}/readyz`);
    if (status !== 503) throw new Error(`/readyz answered ${status} without a database`);
    await pause(DATABASE_AWAY_MS / 2);
    const at = performance.now();
    await database.start();
    return `Meanwhile \`/readyz\` answered 503. Recovery took ${seconds(at)} s.`;
  },
};

export const temporalRestart: Fault = {
  name: 'temporal',
  text: `Temporal is stopped, and started after ${AWAY_MS / 1000} s`,
  seconds: AWAY_MS / 1000 + 30,
  alerts: ['LinepaceTemporalUnreachable'],
  // The sweep wakes workflows whose signals were lost.
  mayAlert: ['LinepaceSignalsLost'],
  async run({ installation: { temporal } }) {
    await temporal.stop();
    await pause(AWAY_MS);
    const at = performance.now();
    await temporal.start();
    return `Requests were accepted meanwhile. The server was ready again after ${seconds(at)} s.`;
  },
};

export const workerDown: Fault = {
  name: 'worker',
  text: `A worker is killed, and is not started for ${AWAY_MS / 1000} s`,
  seconds: AWAY_MS / 1000 + 10,
  alerts: ['LinepaceProcessDown'],
  async run({ installation: { of, current } }) {
    const [worker] = of('worker');
    await worker?.kill();
    await pause(AWAY_MS);
    await worker?.start(current);
    return 'The two others did its work.';
  },
};

const seconds = (since: number): string => ((performance.now() - since) / 1000).toFixed(0);
