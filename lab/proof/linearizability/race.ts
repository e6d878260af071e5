import { setTimeout as pause } from 'node:timers/promises';
import type { TestApp } from '../../../test/support/app.ts';
import { isLinearizable, type Model, type Operation } from './checker.ts';

/** Where the product is reached. */
export type Site = Pick<TestApp, 'url' | 'pools' | 'config'> & {
  /** The URLs of all API processes; clients take turns. */
  urls: readonly string[];
};

/** A kind of race for one object: what its clients ask, what may happen, and how to ask. */
export interface Race<S, I, O> {
  name: string;
  model: Model<S, I, O>;
  /** Creates the object. @returns how to ask for something, at one API process; undefined: without a response. */
  prepare(site: Site): Promise<(input: I, url: string) => Promise<O | undefined>>;
  /** What the clients ask, each one thing after the other. */
  clients: () => I[][];
}

/** The longest pause of a client before each request. */
const HESITATION_MS = 12;

/** Runs a race once. @returns what every client saw. */
async function recordRound<S, I, O>(
  { prepare, clients }: Race<S, I, O>,
  site: Site,
): Promise<Operation<I, O>[]> {
  const ask = await prepare(site);
  const history: Operation<I, O>[] = [];
  await Promise.all(
    clients().map(async (inputs, client) => {
      const url = site.urls[client % site.urls.length] ?? site.url;
      for (const input of inputs) {
        await pause(Math.random() * HESITATION_MS);
        const from = performance.now();
        const output = await ask(input, url);
        history.push({ input, output, from, to: output === undefined ? Infinity : performance.now() });
      }
    }),
  );
  return history;
}

/** A round that no order of its requests explains. */
export interface Violation {
  race: string;
  history: Operation<unknown, unknown>[];
}

/** Runs a race many times, some at once. */
export async function findViolations<S, I, O>(
  race: Race<S, I, O>,
  site: Site,
  { rounds, atOnce }: { rounds: number; atOnce: number },
): Promise<{ violations: Violation[]; requests: number; unanswered: number }> {
  const found = { violations: [] as Violation[], requests: 0, unanswered: 0 };
  let left = rounds;
  await Promise.all(
    Array.from({ length: Math.min(atOnce, rounds) }, async () => {
      while (left > 0) {
        left -= 1;
        const history = await recordRound(race, site);
        found.requests += history.length;
        found.unanswered += history.filter(({ output }) => output === undefined).length;
        if (!isLinearizable(race.model, history)) found.violations.push({ race: race.name, history });
      }
    }),
  );
  return found;
}

/** The items in random order. */
export const shuffled = <T>(items: readonly T[]): T[] =>
  items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
