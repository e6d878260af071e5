import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'slonik';
import { z } from 'zod';
import { createPools, type Pools } from '../../../db/connection/pools.ts';
import { withSystem } from '../../../db/connection/transactions.ts';
import { newId } from '../../../domain/base/ids.ts';
import { databaseLogins } from '../../../standalone/database-logins.ts';
import type { Demo } from '../../../standalone/demo-data.ts';
import { type AtCarrier, judge, startReceiver, tally } from './judge.ts';
import { type Expectation, insist, sendEverything, type Tenant } from './load.ts';
import { until } from '../../bench/support/waiting.ts';
import { seeded } from '../simulate/workload.ts';
import { createBenchWorkspace, unpaced } from '../../bench/support/workspace.ts';

const TENANTS = ['north', 'south'];
const LINES_EACH = 50;
/** The share of messages about which the carrier misleads. */
const FAULTS = 0.3;
/** The carrier is the simulator, which keeps its log and continues its callbacks after a restart. */
const PARTS = ['api', 'worker', 'temporal', 'postgres', 'simulator'] as const;
/** Lines of each tenant that have a gap. */
const LINES_WITH_GAP = 3;
const BETWEEN_KILLS_MS = 10_000;
/** Messages per second on two cores. Kills are spread over the time that all messages take at this rate. */
const A_SECOND = 70;
const DOWN_MS = 3000;
/** Longer than a send may take. */
const FROZEN_MS = 20_000;
/** At every seventh kill, the carrier also stops responding for a while. */
const FREEZE_EVERY = 7;
/** The maximum error of the clock of the API or the worker. */
const STEP_MS = 20_000;
/** Drips leave for up to five and a half minutes after the last request. */
const REQUESTS_SHARE = 1 / 3;
/** The daily cap of the line that has one. */
export const CAP = 2;
const SETTLE_MS = 15 * 60_000;
const LOOK_MS = 10_000;
/** Added to the pause between two looks for each message, because a look reads the carrier's whole log. */
const LOOK_MS_A_MESSAGE = 0.3;

export interface Chaos {
  demo: Demo;
  messages: number;
  kills: number;
  /** Decides the faults of the carrier, what is killed when, and the callers' pauses. */
  seed: number;
  pidOf(part: string): number;
  /** The folder in which API and worker find the errors of their clocks (`stepped-clock.ts`). */
  clocksDir: string;
  say(text: string): void;
}

/** Sends messages of all kinds through 100 lines of two tenants amid all faults. @returns whether all judges agree. */
export async function runEverything({
  demo,
  messages,
  kills,
  seed,
  pidOf,
  clocksDir,
  say,
}: Chaos): Promise<boolean> {
  say(`seed ${seed}: ${messages} messages, ${kills} kills`);
  const random = seeded(seed);
  const pools = await createPools(databaseLogins(demo.databaseUrl));
  const tenants: Tenant[] = [];
  for (const name of TENANTS) tenants.push(await createTenant(pools, name));
  await pools.close();
  const receiver = await startReceiver();
  const ask = (path: string, body: object) => insist(demo.baseUrl, demo.workspaceKey, 'POST', path, body);
  await ask('/simulated/carrier/faults', { share: FAULTS, seed: String(seed) });

  // Drawn before anything happens, so that the seed alone decides.
  const betweenMs = Math.max(BETWEEN_KILLS_MS, (messages / A_SECOND / kills) * 1000);
  const schedule = Array.from({ length: kills }, (_, index) => ({
    part: PARTS[Math.floor(random() * PARTS.length)] ?? 'api',
    afterMs: betweenMs * (0.4 + random() * 1.2),
    tenant: tenants[index % tenants.length],
    line: Math.floor(random() * LINES_EACH),
    freezes: index % FREEZE_EVERY === FREEZE_EVERY - 1,
    clock: random() < 0.5 ? 'api' : 'worker',
    wrongByMs: Math.round((random() * 2 - 1) * STEP_MS),
  }));
  const lastsMs = schedule.reduce((sum, { afterMs }) => sum + afterMs + DOWN_MS, 0);
  const disturbed = disturb();
  const expected = new Map<string, Expectation>();
  const replies: string[] = [];
  const bubbles: string[][] = [];
  await Promise.all(
    tenants.map(async (tenant) => {
      const options = {
        total: messages / TENANTS.length,
        random: seeded(seed + 1),
        withinMs: lastsMs * REQUESTS_SHARE,
        webhookUrl: receiver.url,
        hasBubbles: true,
      };
      const promised = await sendEverything(demo.baseUrl, tenant, options);
      for (const [text, how] of promised.texts) expected.set(text, how);
      replies.push(...promised.replies);
      bubbles.push(...promised.bubbles);
    }),
  );
  say(`everything is accepted: ${expected.size} texts`);
  await disturbed;

  const log = async (): Promise<AtCarrier[]> => {
    const { body } = await insist(demo.baseUrl, demo.workspaceKey, 'GET', '/simulated/carrier/sent');
    return (body as { messages?: AtCarrier[] }).messages ?? [];
  };
  const wanted = [...expected].filter(([, how]) => how === 'once').map(([text]) => text);
  await until(
    async () => {
      const there = new Set((await log()).map(({ text }) => text));
      const missing = wanted.filter((text) => !there.has(text)).length;
      say(`${there.size} texts at the carrier, ${missing} missing`);
      await pause(LOOK_MS + LOOK_MS_A_MESSAGE * messages);
      return missing === 0;
    },
    SETTLE_MS + (messages / A_SECOND) * 1000,
  ).catch(() => say('gave up waiting'));

  const caps = new Map(tenants.map(({ cappedLineId }) => [cappedLineId, CAP]));
  const workspaceIds = tenants.map(({ id }) => id);
  const verdict = async () =>
    judge(demo.databaseUrl, { workspaceIds, expected, bubbles, replies, caps }, await log(), receiver);
  // Outcomes, receipts and deliveries follow; a doubled message would arrive soon.
  let found = await verdict();
  const isRight = (): boolean => Object.values(found).every((problems) => problems.length === 0);
  await until(async () => {
    await pause(10_000);
    found = await verdict();
    return isRight();
  }, 120_000).catch(() => {});
  await pause(15_000);
  found = await verdict();
  receiver.close();
  console.table(Object.fromEntries(Object.entries(found).map(([name, { length }]) => [name, length])));
  for (const [name, problems] of Object.entries(found))
    for (const problem of problems.slice(0, 5)) say(`${name}: ${problem}`);
  const happened = Object.entries(await tally(demo.databaseUrl, workspaceIds));
  say(happened.map(([what, count]) => `${what} ${count}`).join(', '));
  const faults = Map.groupBy(await log(), ({ fault }) => fault ?? 'none');
  say(`faults: ${[...faults].map(([fault, { length }]) => `${fault} ${length}`).join(', ')}`);
  say(`seed ${seed}: ${isRight() ? 'nothing is wrong' : 'WRONG'}`);
  return isRight();

  /**
   * Requests to the carrier get no response, and arrive when it goes on.
   * @param killed a process that may be the carrier's and may not have ended yet; 0: none.
   */
  async function freezeCarrier(killed: number): Promise<void> {
    await until(async () => pidOf('simulator') !== killed, 60_000);
    const pid = pidOf('simulator');
    process.kill(pid, 'SIGSTOP');
    say('the carrier answers nobody');
    await pause(FROZEN_MS);
    process.kill(pid, 'SIGCONT');
  }

  async function disturb(): Promise<void> {
    for (const { part, afterMs, tenant, line, freezes, clock, wrongByMs } of schedule) {
      await pause(afterMs);
      await until(async () => pidOf(part) > 0, 60_000);
      const killed = pidOf(part);
      process.kill(killed, 'SIGKILL');
      say(`${part} killed`);
      writeFileSync(join(clocksDir, clock), String(wrongByMs));
      say(`the clock of ${clock} is wrong by ${wrongByMs} ms`);
      if (freezes) await freezeCarrier(killed);
      const lineId = tenant?.lineIds[line] ?? '';
      await ask(`/simulated/carrier/lines/${lineId}`, { down: true });
      await pause(DOWN_MS);
      await ask(`/simulated/carrier/lines/${lineId}`, { down: false });
    }
  }
}

/**
 * Creates a workspace with lines, some with a gap of a second, one with a low cap.
 */
export async function createTenant(pools: Pools, name: string, lines = LINES_EACH): Promise<Tenant> {
  const { id, key, lineIds } = await createBenchWorkspace(pools, lines);
  const cappedLineId = newId();
  await unpaced(pools, id);
  await withSystem(pools, async (db) => {
    await db.query(sql.type(z.unknown())`
      update lines set min_gap_seconds = 1 where workspace_id = ${id} and id = any(${sql.array(lineIds.slice(0, LINES_WITH_GAP), 'text')})`);
    await db.query(sql.type(z.unknown())`
      insert into lines (workspace_id, id, channel, phone, provisioning_status, carrier, daily_total_limit, daily_new_limit,
        hourly_new_limit, min_gap_seconds, contact_gap_seconds)
      values (${id}, ${cappedLineId}, 'sms', '+14155550199', 'active', 'simulated', ${CAP}, 100, 100, 0, 0)`);
    await db.query(sql.type(z.unknown())`
      insert into lookups (kind, key, workspace_id) values ('line', ${cappedLineId}, ${id})`);
  });
  return { id, name, key, lineIds, cappedLineId };
}
