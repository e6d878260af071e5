import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../fault.ts';

const BETWEEN_MS = 10_000;

export const kill: Fault = {
  name: 'kill',
  text: 'SIGKILL to every process in turn, each started again at once',
  seconds: 150,
  alerts: [],
  // A process is away until it has started, and signals are lost with it.
  mayAlert: ['LinepaceApiErrors', 'LinepaceProcessDown', 'LinepaceSignalsLost'],
  async run({ installation: { places, temporal, database, current }, say }) {
    const killed: string[] = [];
    const servers = [
      { name: 'Temporal', kill: () => temporal.kill(), start: () => temporal.start() },
      { name: 'PostgreSQL', kill: () => database.kill(), start: () => database.start() },
    ];
    const processes = places.map(({ name, kill: end, start }) => ({
      name,
      kill: end,
      start: () => start(current),
    }));
    for (const one of [...processes, ...servers]) {
      await one.kill();
      const at = performance.now();
      say(`${one.name} killed`);
      await one.start();
      killed.push(`${one.name} (ready again after ${((performance.now() - at) / 1000).toFixed(0)} s)`);
      await pause(BETWEEN_MS);
    }
    return `Killed: ${killed.join(', ')}.`;
  },
};
