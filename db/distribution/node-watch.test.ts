import type { DatabasePool } from 'slonik';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { NodeUnavailable, type NodeWatch, watchNodes } from './node-watch.ts';

let isDistributed: boolean;
/** The ports of nodes that respond. */
let responding: Set<number>;
/** Of the others. */
let answer: () => Promise<boolean>;
let nodes: NodeWatch;
const fake = {
  async oneFirst({ sql, values }: { sql: string; values: unknown[] }) {
    if (sql.includes('pg_extension')) return isDistributed;
    if (!responding.has(Number(values[1]))) return answer();
    return true;
  },
  async any({ sql, values }: { sql: string; values: unknown[] }) {
    if (sql.includes('node_of'))
      return (values[0] as string[]).map((id) => ({ id, node: id === 'org_1' ? 1 : 2 }));
    return [
      { groupid: 1, nodename: 'a', nodeport: 5001 },
      { groupid: 2, nodename: 'b', nodeport: 5002 },
    ];
  },
  async end() {},
} as unknown as DatabasePool;
const watch = (): NodeWatch => watchNodes(fake, async () => fake);
const LOOK_MS = 2000;

beforeEach(() => {
  vi.useFakeTimers();
  isDistributed = true;
  responding = new Set([5001, 5002]);
  answer = async () => false;
});
afterEach(async () => {
  await nodes.close();
  vi.useRealTimers();
});

test('workspaces of a node that does not respond are unavailable until it does', async () => {
  nodes = watch();
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(await nodes.available(['org_1', 'org_2'], String)).toEqual(['org_1', 'org_2']);
  responding.delete(5002);
  await vi.advanceTimersByTimeAsync(2 * LOOK_MS);
  expect(await nodes.available(['org_1', 'org_2'], String)).toEqual(['org_1']);
  await nodes.check('org_1');
  await expect(nodes.check('org_2')).rejects.toThrow(NodeUnavailable);
  responding.add(5002);
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  await nodes.check('org_2');
});

test('a check that does not end is a failure, and no other one begins', async () => {
  const checks: PromiseWithResolvers<boolean>[] = [];
  answer = () => {
    const check = Promise.withResolvers<boolean>();
    checks.push(check);
    return check.promise;
  };
  responding.delete(5002);
  nodes = watch();
  await vi.advanceTimersByTimeAsync(4 * LOOK_MS);
  expect(await nodes.available(['org_1', 'org_2'], String)).toEqual(['org_1']);
  expect(checks).toHaveLength(1);
  checks[0]?.reject(new Error('canceling statement due to statement timeout'));
  responding.add(5002);
  await vi.advanceTimersByTimeAsync(2 * LOOK_MS);
  expect(nodes.areAllAvailable).toBe(true);
});

test('a node that is late once is available', async () => {
  nodes = watch();
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  for (let looks = 0; looks < 4; looks += 1) {
    if (looks % 2 === 0) responding.delete(5002);
    else responding.add(5002);
    await vi.advanceTimersByTimeAsync(LOOK_MS);
    await nodes.check('org_2');
  }
});

test('one server is not watched', async () => {
  isDistributed = false;
  nodes = watch();
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(vi.getTimerCount()).toBe(0);
  await nodes.check('org_2');
});
