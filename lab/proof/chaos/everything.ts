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
import type { Cluster, Node } from './cluster.ts';
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
/** The pause between two requests of a tenant to an endpoint, which allows 60 a minute. */
const VISIT_MS = 1000;
/** Longer than a send may take. */
const FROZEN_MS = 20_000;
/** Until all processes know that a node does not respond, and what waits for it has given up. */
const NOTICED_MS = 15_000;
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
  /** Its nodes are killed in place of PostgreSQL; null: the database is one server. */
  cluster: Cluster | null;
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
  cluster,
  clocksDir,
  say,
}: Chaos): Promise<boolean> {
  say(`seed ${seed}: ${messages} messages, ${kills} kills`);
  const random = seeded(seed);
  const pools = await createPools(databaseLogins(demo.databaseUrl));
  const tenants: Tenant[] = [];
  /** At each node of a cluster, a tenant without a load of its own, for which requests would wait. */
  const bystanders = new Map<string, Tenant>();
  for (const [index, name] of TENANTS.entries()) {
    const node = cluster?.nodes[index % cluster.nodes.length];
    const create = (name: string, lines: number): Promise<Tenant> =>
      createTenant(pools, name, lines, (id) => isAt(cluster, node, id));
    tenants.push(await create(name, LINES_EACH));
    if (node) bystanders.set(node.name, await create(`${name} bystander`, 1));
  }
  await pools.close();
  const disturbances: string[] = [];
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
  await Promise.all(
    tenants.map(async (tenant) => {
      const options = {
        total: messages / TENANTS.length,
        random: seeded(seed + 1),
        withinMs: lastsMs * REQUESTS_SHARE,
        webhookUrl: receiver.url,
      };
      const promised = await sendEverything(demo.baseUrl, tenant, options);
      for (const [text, how] of promised.texts) expected.set(text, how);
      replies.push(...promised.replies);
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
  const verdict = async () => ({
    ...(await judge(demo.databaseUrl, { workspaceIds, expected, replies, caps }, await log(), receiver)),
    ...(cluster && { 'tenants of other nodes disturbed': disturbances }),
  });
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

  async function killNode(node: Node): Promise<void> {
    node.kill();
    say(`node ${node.name} killed`);
    await visitOthers(
      node,
      pause(DOWN_MS).then(() => node.start()),
    );
  }

  async function freezeNode(node: Node): Promise<void> {
    node.freeze();
    say(`node ${node.name} does not respond`);
    await pause(NOTICED_MS);
    await visitOthers(
      node,
      pause(FROZEN_MS).then(() => node.resume()),
    );
  }

  /** Sends and reads for tenants of other nodes until that node is back. */
  async function visitOthers(node: Node, started: Promise<void>): Promise<void> {
    const back = new AbortController();
    void started.finally(() => back.abort()).catch(() => {});
    const others = [...bystanders].flatMap(([home, tenant]) => (home === node.name ? [] : [tenant]));
    let visits = 0;
    for (; !back.signal.aborted; await pause(VISIT_MS)) {
      for (const tenant of others) {
        for (const [method, path, body] of visitsOf(`${tenant.name} ${Date.now()}`)) {
          const status = await visit(demo.baseUrl, tenant.key, method, path, body);
          visits += 1;
          if (status >= 500)
            disturbances.push(
              `${method} ${path} of ${tenant.name} was answered ${status} without ${node.name}`,
            );
        }
      }
    }
    await started;
    say(`node ${node.name} is back; tenants of other nodes made ${visits} requests`);
  }

  /** Moves a tenant to the next node while it sends. */
  async function moveAway(cluster: Cluster, { id, name }: Tenant): Promise<void> {
    const home = await cluster.nodeOf(id);
    const next =
      cluster.nodes[(cluster.nodes.findIndex((node) => node.name === home) + 1) % cluster.nodes.length];
    if (!next) throw new Error('the cluster has no nodes');
    const started = Date.now();
    await cluster.move(id, next);
    say(`${name} moved from ${home} to ${next.name} in ${Math.round((Date.now() - started) / 1000)} s`);
  }

  async function disturb(): Promise<void> {
    let nodesLost = 0;
    for (const { part, afterMs, tenant, line, freezes, clock, wrongByMs } of schedule) {
      await pause(afterMs);
      let killed = 0;
      if (part === 'postgres' && cluster) {
        const [round, index] = [
          Math.floor(nodesLost / cluster.nodes.length),
          nodesLost % cluster.nodes.length,
        ];
        nodesLost += 1;
        const node = cluster.nodes[index];
        if (!node) throw new Error('the cluster has no nodes');
        // In turns, so that each node is killed, and stops responding the next time, or the other way round.
        await ((round + index) % 2 === 0 ? killNode : freezeNode)(node);
        if (tenant) await moveAway(cluster, tenant);
      } else {
        await until(async () => pidOf(part) > 0, 60_000);
        killed = pidOf(part);
        process.kill(killed, 'SIGKILL');
        say(`${part} killed`);
      }
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

const isAt = async (cluster: Cluster | null, node: Node | undefined, id: string): Promise<boolean> =>
  !cluster || !node || (await cluster.nodeOf(id)) === node.name;

/** A message, a drip and reads. */
function visitsOf(text: string): [method: string, path: string, body?: object][] {
  const message = { message: text, recipientPhone: '+14155550123' };
  const scheduledDate = new Date(Date.now() + 86_400_000).toISOString();
  return [
    ['POST', '/api/messages', { ...message, scheduledDate }],
    ['POST', '/api/drip', message],
    ['GET', '/api/messages'],
    ['GET', '/api/conversations'],
  ];
}

/** @returns the status of the response; 0: there was none. */
async function visit(
  baseUrl: string,
  key: string,
  method: string,
  path: string,
  body?: object,
): Promise<number> {
  return fetch(baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  }).then(
    ({ status }) => status,
    () => 0,
  );
}

/**
 * Creates a workspace with lines, some with a gap of a second, one with a low cap.
 * @param suits whether to use a workspace with this id; others stay empty.
 */
export async function createTenant(
  pools: Pools,
  name: string,
  lines = LINES_EACH,
  suits: (id: string) => Promise<boolean> = async () => true,
): Promise<Tenant> {
  const { id, key, lineIds } = await createBenchWorkspace(pools, lines);
  if (!(await suits(id))) return createTenant(pools, name, lines, suits);
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
