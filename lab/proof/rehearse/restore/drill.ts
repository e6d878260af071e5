import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../../bench/support/waiting.ts';
import { connected } from '../../../../db/connection/connected.ts';
import { ops } from '../../../../workers/ops.ts';
import type { Tenant } from '../../chaos/load.ts';
import { readHistories } from '../histories.ts';
import type { Installation } from '../installation.ts';
import type { Backups } from './backups.ts';
import { type Promised, startLoad } from './load.ts';

/** A way to lose data, and how the database is recovered. */
export interface Loss {
  name: string;
  text: string;
  /** Happens while messages are sent. @returns the time to recover to; null: the end of the archive. */
  happen(installation: Installation): Promise<Date | null>;
}

/** What was measured, and what the judges found. */
export interface Drilled {
  loss: Loss;
  seconds: Record<'lost' | 'stop' | 'restore' | 'recover' | 'start' | 'first send', number>;
  counts: Record<string, number>;
  verdict: Record<string, string[]>;
}

const LOAD_MS = 75_000;
/** Drips leave for up to five and a half minutes after their request. */
const SETTLE_MS = 15 * 60_000;
/** A doubled message would arrive soon. */
const LINGER_MS = 20_000;
/** Callers repeat the requests that they made within this time before the failure. */
const REPEATED_MS = 5 * 60_000;

/** The disk with the database is gone, and everything that was not in the archive. */
export const diskLost: Loss = {
  name: 'disk lost',
  text: 'The server is killed and its data folder removed; restored to the end of the archive',
  async happen({ database, folder }) {
    await database.kill();
    rmSync(join(folder, 'postgres', 'cluster'), { recursive: true });
    return null;
  },
};

/** How long it takes until the mistake is noticed. */
const NOTICED_MS = 40_000;

/** A wrong statement, noticed later: the database is restored to the moment before. */
export const rowsDeleted: Loss = {
  name: 'rows deleted',
  text: `A wrong statement deletes all webhooks, which is noticed after ${NOTICED_MS / 1000} s; restored to the moment before it`,
  async happen({ database }) {
    const before = new Date();
    await pause(1000);
    await connected(database.ownerUrl, (client) => client.query('delete from webhooks'));
    await pause(NOTICED_MS);
    await database.stop();
    return before;
  },
};

/** Some endpoints take a request every two seconds. */
const REPEAT_MS = 5 * 60_000;

/** Has messages sent, loses the database, restores it, starts the product on it and judges. */
export async function drill(
  loss: Loss,
  {
    installation,
    backups,
    tenants,
    say,
  }: { installation: Installation; backups: Backups; tenants: readonly Tenant[]; say(text: string): void },
): Promise<Drilled> {
  const { database, carriers, places, client, folder, current } = installation;
  const loads = tenants.map((tenant) => startLoad(installation, tenant, loss.name));
  await pause(LOAD_MS);
  const to = await loss.happen(installation);
  const failedAt = new Date();
  say(`${loss.name}: the database is gone`);
  const stopping = Promise.all(loads.map((load) => load.stop()));
  const stop = await seconds(async () => void (await Promise.all(places.map((place) => place.stop()))));
  await stopping;
  const stoppedAt = new Date();
  const promised = loads.flatMap((load) => load.promised);
  const replies = loads.flatMap((load) => load.replies);

  const restore = await seconds(async () =>
    database.moveTo(await backups.restore(loss.name.replace(' ', '-'), to)),
  );
  const recover = await seconds(async () => {
    await database.start();
    await until(async () => {
      const { rows } = await connected(database.ownerUrl, (one) =>
        one.query('select pg_is_in_recovery() as recovers'),
      );
      return rows[0]?.['recovers'] === false;
    });
  });
  const recoveredTo = lastCommit(join(folder, 'postgres.log'));
  say(`recovered to ${recoveredTo.toISOString()}`);

  const atCarriers = tallyOf(carriers.accepted());
  const before = await readDatabase(database.ownerUrl);
  const lost = promised.filter(({ text }) => !before.has(text));
  const inDoubt = [...before.waiting].filter((text) => atCarriers.has(text));
  const times = ['--from', recoveredTo.toISOString(), '--until', stoppedAt.toISOString()];
  const command = await ops(['after-restore', ...times, '--by', 'the drill'], current.env);
  say(`after-restore: ${command.stdout}${command.stderr}`);

  const startedAt = Date.now();
  const start = await seconds(
    async () => void (await Promise.all(places.map((place) => place.start(current)))),
  );
  const isNew = ({ acceptedAt }: { acceptedAt: Date }): boolean => acceptedAt.getTime() > startedAt;
  await until(async () => carriers.accepted().some(isNew), SETTLE_MS);
  const firstSend =
    (Math.min(
      ...carriers
        .accepted()
        .filter(isNew)
        .map(({ acceptedAt }) => acceptedAt.getTime()),
    ) -
      startedAt) /
    1000;
  say('the first message was sent');

  const repeated = promised.filter(({ at }) => at.getTime() > failedAt.getTime() - REPEATED_MS);
  await repeatAll(repeated);
  say(`${lost.length} requests were lost; callers have repeated ${repeated.length}`);
  const missing = (): Promised[] => {
    const there = tallyOf(carriers.accepted());
    return promised.filter(({ text }) => !there.has(text));
  };
  await until(async () => {
    await pause(5000);
    const waiting = (await readDatabase(database.ownerUrl)).waiting.size;
    say(`${missing().length} messages missing at the carriers, ${waiting} waiting`);
    return missing().length === 0 && waiting === 0;
  }, SETTLE_MS).catch(() => say('gave up waiting'));
  await pause(LINGER_MS);

  const after = await readDatabase(database.ownerUrl);
  const { failedTasks, failedWorkflows } = await readHistories(client);
  const heard = new Set(after.replies);
  const isRestored = (at: Date): boolean => at < recoveredTo;
  return {
    loss,
    seconds: {
      lost: (failedAt.getTime() - recoveredTo.getTime()) / 1000,
      stop,
      restore,
      recover,
      start,
      'first send': firstSend,
    },
    counts: {
      'messages accepted': promised.length,
      'accepted messages without a record': lost.length,
      'messages that were sent and appear to wait': inDoubt.length,
      'messages of contacts without a record': replies.filter(({ id }) => !heard.has(id)).length,
    },
    verdict: {
      'lost though in the archive': lost.filter(({ at }) => isRestored(at)).map(({ text }) => text),
      'not sent': missing().map(({ text }) => text),
      doubled: [...tallyOf(carriers.accepted())].filter(([, times_]) => times_ > 1).map(([text]) => text),
      stuck: [...after.waiting],
      'webhooks lost': tenants.slice(after.webhooks.length).map(({ name }) => name),
      failed: after.failed,
      'replies lost though in the archive': replies
        .filter(({ id, at }) => isRestored(at) && !heard.has(id))
        .map(({ id }) => id),
      'workflow tasks failed': failedTasks,
      'workflows failed': failedWorkflows,
    },
  };
}

async function repeatAll(promised: readonly Promised[]): Promise<void> {
  for (const { repeat } of promised)
    await until(async () => {
      await repeat();
      return true;
    }, REPEAT_MS);
}

const seconds = async (work: () => Promise<void>): Promise<number> => {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
};

function tallyOf(accepted: readonly { text: string }[]): Map<string, number> {
  return new Map([...Map.groupBy(accepted, ({ text }) => text)].map(([text, all]) => [text, all.length]));
}

/** From the line that an operator would read, too: `last completed transaction was at log time …`. */
function lastCommit(log: string): Date {
  const times = [...readFileSync(log, 'utf8').matchAll(/last completed transaction was at log time (.+)/g)];
  return new Date(times.at(-1)?.[1] ?? '');
}

/** The messages in the database, by the texts that reach the carriers. */
async function readDatabase(url: string) {
  return connected(url, async (client) => {
    const texts = async (query: string): Promise<string[]> =>
      (await client.query<{ text: string }>(query)).rows.map(({ text }) => text);
    const all = await texts(`select unnest(array[body, sms_fallback_message]) as text from messages`);
    const buffered = (await texts('select draft::text as text from drip_buffer')).join('\n');
    const known = new Set(all);
    const waiting = await texts(`select coalesce(sms_fallback_message, body) as text from messages
      where status in ('pending', 'scheduled', 'sending') or fallback_sms = 'due'`);
    return {
      has: (text: string): boolean => known.has(text) || buffered.includes(`"${text}"`),
      waiting: new Set(waiting),
      failed: await texts(
        `select body || ': ' || error_message as text from messages where status = 'failed'`,
      ),
      webhooks: await texts('select id as text from webhooks'),
      replies: await texts('select carrier_message_id as text from inbound_messages'),
    };
  });
}
