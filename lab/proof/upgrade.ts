import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { connected } from '../../db/connection/connected.ts';
import { migrate } from '../../db/migrate.ts';
import { createPools } from '../../db/connection/pools.ts';
import { startSimulator } from '../../simulator/server.ts';
import { environment } from '../../test/support/process.ts';
import { CAP, createTenant } from './chaos/everything.ts';
import { type AtCarrier, judge, startReceiver } from './chaos/judge.ts';
import { insist, sendEverything, type Tenant } from './chaos/load.ts';
import { followStream, type StreamReader } from './chaos/stream-reader.ts';
import { createPlace, type Release } from './rehearse/processes.ts';
import { startServers } from '../bench/support/servers.ts';
import { until } from '../bench/support/waiting.ts';
import { seeded } from './simulate/workload.ts';

/**
 * `npm run prove -- upgrade [--from <commit>] [--messages 300]`: runs an API and a worker process of an earlier release, by
 * default that of the newest tag. They write messages of all kinds; the migrations of this checkout are applied meanwhile, and
 * they go on writing to the new schema. Then processes of this checkout take over. Judges what arrived at the carrier, at a
 * customer's server, and at a client of the event stream, which resumes whenever its connection ends. Without a release there is nothing to upgrade from: it fails.
 */
const { values } = parseArgs({
  options: { from: { type: 'string' }, messages: { type: 'string', default: '300' } },
});
const MESSAGES = Number(values.messages);
/** Half of the requests come before the migrations. */
const WITHIN_MS = 120_000;
const SETTLE_MS = 10 * 60_000;
const LINES = 10;

const git = (...args: string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', stdio: 'pipe' }).trim();
const say = (text: string): void =>
  void process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);

const release = values.from ?? previousRelease();
if (release === null) {
  say(
    'There is no release to upgrade from: no commit before this one has a tag v<version>, or is a "chore: release".',
  );
  process.exit(1);
}
const from = git('rev-parse', `${release}^{commit}`);
const folder = mkdtempSync(path.join(tmpdir(), 'linepace-upgrade-'));
const earlier = checkOut(from);
say(`from ${git('log', '-1', '--format=%h %s', from)}`);

const { config, ownerUrl, stop } = await startServers();
const [api, worker] = await Promise.all([
  createPlace('api', 'api', folder),
  createPlace('worker', 'worker', folder),
]);
const publicUrl = `http://127.0.0.1:${api.port}`;
const secret = randomBytes(16).toString('hex');
const simulator = await startSimulator({
  port: 0,
  smtpPort: 0,
  dataDir: null,
  callbackBaseUrl: publicUrl,
  secret,
});
const receiver = await startReceiver();
try {
  process.exitCode = (await upgrade()) ? 0 : 1;
} finally {
  await Promise.all([api.stop(), worker.stop()]);
  await simulator.stop();
  receiver.close();
  await stop();
  if (process.exitCode === 0) rmSync(folder, { recursive: true, force: true });
  else say(`the logs are in ${folder}`);
}

async function upgrade(): Promise<boolean> {
  const database = await createDatabase();
  const env = {
    ...environment({
      ...config,
      database: { ...database, replicaUrl: null, listenUrl: database.systemUrl },
      publicUrl,
      simulator: { url: simulator.url, secret },
    }),
    DATABASE_OWNER_URL: database.ownerUrl,
  };
  const old: Release = { root: earlier, env };
  execFileSync(process.execPath, ['db/migrate.ts'], {
    cwd: earlier,
    env: { ...process.env, ...env },
    stdio: 'pipe',
  });
  for (const place of [api, worker]) await place.start(old);
  const pools = await createPools(database);
  const tenant = await createTenant(pools, 'north', LINES);
  await pools.close();

  const stream = followStream(publicUrl, tenant.key);
  try {
    await stream.opened;
    return await upgradeUnderLoad({ database, env, tenant, stream });
  } finally {
    await stream.stop();
  }
}

interface Site {
  database: Awaited<ReturnType<typeof createDatabase>>;
  env: Readonly<Record<string, string>>;
  tenant: Tenant;
  stream: StreamReader;
}

async function upgradeUnderLoad({ database, env, tenant, stream }: Site): Promise<boolean> {
  const sent = sendEverything(publicUrl, tenant, {
    total: MESSAGES,
    random: seeded(1),
    withinMs: WITHIN_MS,
    webhookUrl: receiver.url,
    events: await knownEvents(),
  });
  await pause(WITHIN_MS / 2);
  const applied = await migrate(database.ownerUrl, database, { log: say });
  say(applied.length === 0 ? 'there was nothing to migrate' : `applied ${applied.join(', ')}`);
  const { texts: expected, replies } = await sent;
  const order = { channelType: 'sms', firstName: 'Sam', lastName: 'Lee' };
  const ordered = await insist(publicUrl, tenant.key, 'POST', '/api/line-requests', order, 'line');
  if (ordered.status !== 201) throw new Error(`a line request was answered ${ordered.status}`);
  say(`the old processes accepted ${expected.size} texts`);

  const accepted = async (): Promise<AtCarrier[]> => {
    const response = await fetch(`${simulator.url}/simulated/carrier/sent`);
    return ((await response.json()) as { messages: AtCarrier[] }).messages;
  };
  const once = [...expected].filter(([, how]) => how === 'once').map(([text]) => text);
  // What was accepted last is sent by processes of this checkout.
  const arrived = async (share: number): Promise<boolean> => {
    const there = new Set((await accepted()).map(({ text }) => text));
    return once.filter((text) => there.has(text)).length >= once.length * share;
  };
  await until(() => arrived(0.8), SETTLE_MS);
  say('four of five are sent; processes of this checkout take over');
  for (const place of [api, worker]) {
    await place.stop();
    await place.start({ root: process.cwd(), env });
  }
  await until(() => arrived(1), SETTLE_MS).catch(() => say('gave up waiting'));

  const promised = {
    workspaceIds: [tenant.id],
    expected,
    replies,
    caps: new Map([[tenant.cappedLineId, CAP]]),
  };
  const judged = async () => ({
    ...(await judge(database.ownerUrl, promised, await accepted(), receiver)),
    ...(await judgeStream(database.ownerUrl, tenant.id, stream)),
  });
  let found = await judged();
  const isRight = (): boolean => Object.values(found).every((problems) => problems.length === 0);
  await until(async () => {
    found = await judged();
    return isRight();
  }).catch(() => {});
  console.table(Object.fromEntries(Object.entries(found).map(([name, { length }]) => [name, length])));
  for (const [name, problems] of Object.entries(found))
    for (const problem of problems.slice(0, 5)) say(`${name}: ${problem}`);
  say(isRight() ? 'nothing is wrong' : 'WRONG');
  return isRight();
}

/** The events that the earlier release knows, wherever its source has them. */
async function knownEvents(): Promise<readonly string[]> {
  const file = git('grep', '--name-only', 'export const EVENT_NAMES', from, '--', 'domain').replace(
    `${from}:`,
    '',
  );
  const { EVENT_NAMES } = (await import(path.join(earlier, file))) as {
    EVENT_NAMES: readonly string[];
  };
  return EVENT_NAMES;
}

/** Which events the client of the stream has not got, or more than once. */
async function judgeStream(databaseUrl: string, workspaceId: string, { events, resets }: StreamReader) {
  return connected(databaseUrl, async (client) => {
    const { rows } = await client.query<{ id: string; event: string }>(
      'select id, event from events where workspace_id = $1',
      [workspaceId],
    );
    return {
      'events not streamed': rows
        .filter(({ id }) => !events.has(id))
        .map(({ id, event }) => `${id} ${event}`),
      'events streamed twice': [...events].filter(([, count]) => count > 1).map(([id]) => id),
      'streams reset': Array.from({ length: resets }, () => 'a stream could not be resumed'),
    };
  });
}

/** A database without a schema, beside the one of the servers. */
async function createDatabase() {
  const name = 'upgraded';
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const named = (url: string): string => Object.assign(new URL(url), { pathname: name }).href;
  const { tenantUrl, systemUrl } = config.database;
  return { ownerUrl: named(ownerUrl), tenantUrl: named(tenantUrl), systemUrl: named(systemUrl) };
}

/** @returns the newest release before this commit, by its tag or its commit; null: there is none. */
function previousRelease(): string | null {
  // A shallow clone has no history.
  if (git('rev-list', '--count', 'HEAD') === '1') return null;
  const tags = git('tag', '--list', 'v*', '--sort=-version:refname', '--merged', 'HEAD~1').split('\n');
  const tag = tags.find((name) => /^v\d+\.\d+\.\d+$/.test(name));
  if (tag !== undefined) return tag;
  const commit = git('log', '-1', '--format=%H', '--grep', String.raw`^chore: release [0-9]`, 'HEAD~1');
  return commit === '' ? null : commit;
}

/** The files of a commit, with the dependencies of this checkout. */
function checkOut(commit: string): string {
  const root = path.join(folder, 'earlier');
  mkdirSync(root);
  execFileSync('sh', ['-c', `git archive ${commit} | tar -x -C ${root}`], { stdio: 'pipe' });
  symlinkSync(path.resolve('node_modules'), path.join(root, 'node_modules'));
  return root;
}
