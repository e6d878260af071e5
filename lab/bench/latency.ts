import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { newId } from '../../domain/base/ids.ts';
import { callerOf, contactNumber, reply } from './support/callers.ts';
import { temporaryFolder } from './support/leftovers.ts';
import { installPeers, startRedis } from './support/peers.ts';
import { startProduct } from './support/product.ts';
import { LINEPACE, report, type Row } from './support/rows.ts';
import { emitSent, quantile } from './support/webhook-load.ts';
import { createBenchWorkspace, unpaced } from './support/workspace.ts';

/**
 * Measures how soon things happen on an idle installation, one after the other: a message's call of the carrier, beside a BullMQ
 * worker with the same writes; the customer's webhook after a reply, beside Koa, PostgreSQL and `fetch`; an event on its
 * stream, beside `LISTEN/NOTIFY`. Rounds alternate. `npm run bench -- latency [--rounds 5 --each 50 --apart 200 --only messages,replies,events]`
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    each: { type: 'string', default: '50' },
    apart: { type: 'string', default: '200' },
    only: { type: 'string', default: 'messages,replies,events' },
  },
});
const [ROUNDS, EACH] = [Number(options.rounds), Number(options.each)];
const GOAL = 3;
/** The most between two of them, at random, so that they meet polls at any time. */
const APART_MS = Number(options.apart);
const TIMEOUT_MS = 30_000;

/** When something arrived here, by the id or text by which it is known. */
class Arrivals {
  readonly #arrived = new Map<string, PromiseWithResolvers<number>>();
  note(key = ''): void {
    this.#of(key).resolve(performance.now());
  }
  async of(key: string): Promise<number> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`${key} has not arrived`)), TIMEOUT_MS);
    return Promise.race([this.#of(key).promise, late.promise]).finally(() => clearTimeout(timer));
  }
  #of(key: string): PromiseWithResolvers<number> {
    const known = this.#arrived.get(key) ?? Promise.withResolvers<number>();
    this.#arrived.set(key, known);
    return known;
  }
}

const servers: { close(): unknown; closeAllConnections(): void }[] = [];
async function serve(answer: (body: string) => object): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => response.writeHead(202).end(JSON.stringify(answer(body))));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const [sends, webhooks, streamed, notified] = [
  new Arrivals(),
  new Arrivals(),
  new Arrivals(),
  new Arrivals(),
];
/** A carrier that accepts everything and reports nothing. */
const carrierUrl = await serve((body) => {
  sends.note(/"to":"(\+\d+)"/.exec(body)?.[1]);
  return { id: newId(), status: 'accepted' };
});
const webhookUrl = await serve((body) => {
  webhooks.note(/Reply \d+/.exec(body)?.[0]);
  return {};
});

installPeers();
const redis = await startRedis(temporaryFolder('linepace-bench-redis-'));
const secret = 'bench-secret-of-the-carrier';
const product = await startProduct(1, { simulator: { url: carrierUrl, secret } });
const children: ChildProcess[] = [];

async function startChild(file: string, settings: object): Promise<unknown> {
  const child = fork(new URL(file, import.meta.url), [JSON.stringify(settings)], { execArgv: [] });
  children.push(child);
  const [message] = (await once(child, 'message')) as [unknown];
  return message;
}

/** Milliseconds of one of them, by what is measured. */
type Measured = Record<string, number>;
interface Kind {
  subjects: Record<string, (n: number) => Promise<Measured>>;
  /** Shown instead of what cannot be measured. */
  missing?: string;
}

async function post(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
}

const { id: workspaceId, key, lineIds } = await createBenchWorkspace(product.pools, 20);
await unpaced(product.pools, workspaceId);
const call = callerOf(product.config, key);
const lineOf = (n: number): string => lineIds[n % lineIds.length] ?? '';
const other = { owner: new pg.Client(product.ownerUrl), listener: new pg.Client(product.ownerUrl) };

async function kinds(): Promise<Record<string, Kind>> {
  const shared = { databaseUrl: product.ownerUrl, redisUrl: redis?.url ?? null };
  if (redis)
    await startChild('sends/floor.ts', {
      ...shared,
      carrierUrl,
      secret,
      width: 16,
      queue: { redisUrl: redis.url },
    });
  const { port } = (await startChild('latency/plain-server.ts', { ...shared, webhookUrl })) as {
    port: number;
  };
  const plain = `http://127.0.0.1:${port}`;
  const hook = await call('POST', '/api/webhooks', { url: webhookUrl, events: ['message.reply'] });
  if (hook.status !== 201) throw new Error(`the webhook was refused with ${hook.status}`);
  await other.owner.connect();
  await other.listener.connect();
  other.listener.on('notification', ({ payload }) => notified.note(payload));
  await other.listener.query('listen plain_events');
  await openStream();

  async function message(n: number, send: (to: string) => Promise<void>): Promise<Measured> {
    const to = contactNumber(n);
    const called = sends.of(to);
    const began = performance.now();
    await send(to);
    const answered = performance.now();
    const at = await called;
    return {
      'from the answer to the call of the carrier': at - answered,
      'from the request to it': at - began,
    };
  }
  async function replied(n: number, send: (text: string) => Promise<void>): Promise<Measured> {
    const text = `Reply ${n}`;
    const called = webhooks.of(text);
    const began = performance.now();
    await send(text);
    return { 'from the callback to the webhook': (await called) - began };
  }
  return {
    messages: {
      subjects: {
        [LINEPACE]: (n) =>
          message(n, async (recipientPhone) => {
            const body = { message: 'Bench', recipientPhone, lineId: lineOf(n) };
            const { status } = await call('POST', '/api/messages', body);
            if (status >= 300) throw new Error(`a message was answered with ${status}`);
          }),
        ...(redis && {
          'Koa + PostgreSQL + a BullMQ worker, fsync always': (n) =>
            message(n, (address) =>
              post(`${plain}/messages`, { id: newId(), lineId: lineOf(n), address, body: 'Bench' }),
            ),
        }),
      },
      ...(!redis && { missing: 'not measured: no redis-server in the PATH' }),
    },
    replies: {
      subjects: {
        [LINEPACE]: (n) =>
          replied(n, async (text) => {
            const status = await reply(product.config, lineOf(n), contactNumber(n), text);
            if (status >= 300) throw new Error(`a callback was answered with ${status}`);
          }),
        'Koa + PostgreSQL + fetch': (n) => replied(n, (text) => post(`${plain}/replies`, { text })),
      },
    },
    events: {
      subjects: {
        [LINEPACE]: async () => {
          const began = performance.now();
          const { messageId } = await emitSent(product.pools, workspaceId);
          return {
            'from the start of its transaction to the client': (await streamed.of(messageId)) - began,
          };
        },
        'LISTEN/NOTIFY': async () => {
          const id = newId();
          const arrived = notified.of(id);
          const began = performance.now();
          await other.owner.query('begin');
          await other.owner.query(
            `insert into plain_events (id, event, body) values (gen_random_uuid(), 'message.sent', '{}')`,
          );
          await other.owner.query('select pg_notify($1, $2)', ['plain_events', id]);
          await other.owner.query('commit');
          // A notification comes with the answer to the commit, so that is no time to begin with.
          return { 'from the start of its transaction to the client': (await arrived) - began };
        },
      },
    },
  };
}

async function openStream(): Promise<void> {
  const call = get(`${product.urls[0]}/api/events/stream`, { headers: { authorization: `Bearer ${key}` } });
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`the stream was answered with ${response.statusCode}`);
  response.on('error', () => {});
  servers.push({ close: () => call.destroy(), closeAllConnections: () => {} });
  response
    .setEncoding('utf8')
    .on('data', (text: string) => streamed.note(/"messageId":"(\w+)"/.exec(text)?.[1]));
}

const WORKS: Record<string, string> = {
  messages: 'a message of an idle line',
  replies: 'a reply',
  events: 'an event on the stream',
};
const SHARES = { 'ms, half of them': 0.5, 'ms, 99 % of them': 0.99 };

try {
  const rows = new Map<string, Row>();
  const measured = Object.entries(await kinds()).filter(([kind]) => options.only.split(',').includes(kind));
  let n = 0;
  // The first round warms up.
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [kind, { subjects, missing }] of measured)
      for (const [subject, once_] of Object.entries(subjects)) {
        const results: Measured[] = [];
        for (let index = 0; index < EACH; index += 1) {
          results.push(await once_((n += 1)));
          await pause(Math.random() * APART_MS);
        }
        for (const what of Object.keys(results[0] ?? {}))
          for (const [unit, share] of Object.entries(SHARES)) {
            const value = quantile(
              results.map((result) => result[what] ?? NaN),
              share,
            );
            console.error(`${subject}: ${WORKS[kind]} ${what}, ${unit}: ${value.toFixed(1)}`);
            const name = `${kind} ${what} ${unit} ${subject}`;
            const row = rows.get(name) ?? {
              work: `${WORKS[kind]}, ${what}`,
              subject,
              unit,
              more: false,
              values: [],
              ...(subject !== LINEPACE && { goal: GOAL }),
              ...(missing !== undefined && { note: missing }),
            };
            if (round > 0) row.values.push(value);
            rows.set(name, row);
          }
      }
  await report(
    [...rows.values()].toSorted((a, b) => `${a.work} ${a.unit}`.localeCompare(`${b.work} ${b.unit}`)),
  );
} finally {
  for (const child of children) child.kill();
  redis?.stop();
  await other.listener.end();
  await other.owner.end();
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  await product.stop();
}
