import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { type RunningApi, startApi } from '#api/server.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { EVENT_EXAMPLES } from '#domain/events/examples.ts';
import { newId } from '#domain/base/ids.ts';
import { connected } from '#db/connection/connected.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { startEndpoint } from '#test/support/endpoint.ts';
import { openEventStream, type TestStream } from '#test/support/event-stream.ts';
import {
  createAgency,
  createKey,
  createLine,
  createWorkspace,
  insertRow,
  type TestWorkspace,
} from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { signIn } from '#test/support/sessions.ts';

let app: OwnApp;
/** A second API process on the same database. */
let other: RunningApi;
const opened: TestStream[] = [];

beforeAll(async () => {
  app = await startTestApp();
  other = await startApi({ ...app.config, port: 0 });
});
afterEach(() => {
  for (const stream of opened.splice(0)) stream.close();
});
afterAll(async () => {
  await other.stop();
  await app.stop();
});

async function open(
  { key }: { key: string },
  { url = app.url, ...options }: { url?: string; lastEventId?: string; query?: string } = {},
): Promise<TestStream> {
  const stream = await openEventStream(url, key, options);
  opened.push(stream);
  return stream;
}

/** Emits an event in a transaction. @returns its message id, by which tests know it. */
async function emit(db: TenantDb, text = 'Hello'): Promise<string> {
  const messageId = newId();
  const { workspaceId } = db;
  const example = EVENT_EXAMPLES['message.sent'];
  const payload = { ...example, workspaceId, messageId, message: { ...example.message, message: text } };
  await emitEvents(db, [payload], new Date());
  return messageId;
}

const happens = ({ id }: { id: string }): Promise<string> => withTenant(app.pools, id, (db) => emit(db));

const messagesOf = ({ events }: TestStream): string[] =>
  events.map(({ data }) => (JSON.parse(data) as { messageId: string }).messageId);

const lastIdOf = ({ events }: TestStream): string => events.at(-1)?.id ?? '';

describe('a stream of events', () => {
  it('shows what webhooks get, with the same id and body, and no test of a webhook', async () => {
    const workspace = await createWorkspace(app);
    await createLine(app, workspace.id);
    const call = apiClient(app.url, workspace.key);
    const endpoint = await startEndpoint();
    const { body } = await call('POST', '/api/webhooks', {
      url: endpoint.url,
      events: ['message.sent', 'message.reply', 'message.failed'],
    });
    const stream = await open(workspace);
    expect(stream.status).toBe(200);
    expect(stream.header('content-type')).toMatch(/^text\/event-stream/);
    expect(stream.header('cache-control')).toBe('no-cache, no-transform');
    expect(stream.header('x-accel-buffering')).toBe('no');
    await call('POST', `/api/webhooks/${body.webhook._id}/health-check`);
    // The recipient replies.
    const recipientPhone = phone('0005');
    await call('POST', '/api/messages', { message: 'Hello', recipientPhone });
    await eventually(async () => endpoint.received.length === 3);
    const posted = endpoint.received
      .map(({ headers, body: data }) => ({
        id: headers['x-svc-event-id'],
        event: headers['x-svc-event'],
        data,
      }))
      .filter(({ event }) => event !== 'webhook.ping');
    const streamed = (await stream.received(3)).map(({ id, event, data }) => ({ id, event, data }));
    expect(streamed.map(({ event }) => event).toSorted()).toEqual([
      'message.delivered',
      'message.reply',
      'message.sent',
    ]);
    expect(streamed).toEqual(expect.arrayContaining(posted));
    await endpoint.close();
  });

  it('shows each event in every process', async () => {
    const workspace = await createWorkspace(app);
    const streams = await Promise.all([open(workspace), open(workspace, { url: other.url })]);
    const happened: string[] = [];
    for (let made = 1; made <= 3; made++) {
      happened.push(await happens(workspace));
      for (const stream of streams) {
        await stream.received(made);
        expect(messagesOf(stream)).toEqual(happened);
      }
    }
  });

  it('begins with what happens from now on, and says after which event that is', async () => {
    const workspace = await createWorkspace(app);
    expect((await open(workspace)).header('last-event-id')).toBeNull();
    const before = await happens(workspace);
    const stream = await open(workspace);
    const first = await happens(workspace);
    await stream.received(1);
    expect(messagesOf(stream)).toEqual([first]);
    const after = stream.header('last-event-id') ?? '';
    const again = await open(workspace, { lastEventId: after });
    expect(again.header('last-event-id')).toBe(after);
    await again.received(1);
    expect(messagesOf(again)).toEqual([first]);
    expect(messagesOf(again)).not.toContain(before);
  });

  it('shows nothing of other workspaces', async () => {
    const [workspace, stranger] = await Promise.all([createWorkspace(app), createWorkspace(app)]);
    const stream = await open(workspace);
    for (let made = 0; made < 5; made++) await happens(stranger);
    const own = await happens(workspace);
    await stream.received(1);
    expect(messagesOf(stream)).toEqual([own]);
  });

  it('is open to the session of an agency for its clients, and for no other workspace', async () => {
    const agency = await createAgency(app);
    const [client, stranger] = await Promise.all([
      createWorkspace(app, { agency_id: agency.id }),
      createWorkspace(app),
    ]);
    const key = await signIn(app, { userId: agency.ownerId });
    const stream = await open({ key }, { query: `?workspaceId=${client.id}` });
    const message = await happens(client);
    await stream.received(1);
    expect(messagesOf(stream)).toEqual([message]);
    expect((await open({ key }, { query: `?workspaceId=${stranger.id}` })).status).toBe(404);
  });
});

describe('a stream that is resumed', () => {
  it('goes on after its last event, in any process, with nothing missing and nothing twice', async () => {
    const workspace = await createWorkspace(app);
    const before = await open(workspace);
    const seen = [await happens(workspace), await happens(workspace)];
    await before.received(2);
    before.close();
    expect(messagesOf(before)).toEqual(seen);
    const missed = [await happens(workspace), await happens(workspace), await happens(workspace)];
    const after = await open(workspace, { url: other.url, lastEventId: lastIdOf(before) });
    missed.push(await happens(workspace));
    await after.received(4);
    expect(messagesOf(after)).toEqual(missed);
  });

  it('shows an event that was committed late, although those that overtook it were seen', async () => {
    const workspace = await createWorkspace(app);
    const before = await open(workspace);
    const mayCommit = Promise.withResolvers<void>();
    const emitted = Promise.withResolvers<void>();
    let late = '';
    const slow = withTenant(app.pools, workspace.id, async (db) => {
      late = await emit(db);
      emitted.resolve();
      await mayCommit.promise;
    });
    await emitted.promise;
    const early = await happens(workspace);
    await before.received(1);
    expect(messagesOf(before)).toEqual([early]);
    before.close();
    mayCommit.resolve();
    await slow;
    const after = await open(workspace, { lastEventId: lastIdOf(before) });
    await after.received(1);
    expect(messagesOf(after)).toEqual([late]);
  });

  it('has every event once and in one order while eight writers commit and clients come and go', async () => {
    const workspace = await createWorkspace(app);
    const [first, writers, rounds] = [await happens(workspace), 8, 12];
    const start = (await open(workspace)).header('last-event-id') ?? '';
    const made: string[] = [];
    const write = async (): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        const ids = await withTenant(app.pools, workspace.id, async (db) => {
          const one = await emit(db);
          await pause(Math.random() * 40);
          return [one, await emit(db)];
        });
        made.push(...ids);
      }
    };
    const written = Promise.all(Array.from({ length: writers }, write));
    const follow = async (urls: string[]): Promise<string[]> => {
      const seen: string[] = [];
      let lastEventId = start;
      for (let turn = 0; seen.length < writers * rounds * 2; turn++) {
        const stream = await open(workspace, { url: urls[turn % urls.length] ?? '', lastEventId });
        await pause(30 + Math.random() * 150);
        stream.close();
        // What arrives after that is not counted: it comes again.
        const { events } = stream;
        seen.push(...messagesOf({ ...stream, events: [...events] }));
        lastEventId = events.at(-1)?.id ?? lastEventId;
        if (turn > 300) throw new Error(`only ${seen.length} events`);
      }
      return seen;
    };
    const [one, two] = await Promise.all([follow([app.url, other.url]), follow([other.url])]);
    await written;
    expect(one).toHaveLength(made.length);
    expect(new Set(one)).toEqual(new Set(made));
    expect(two).toEqual(one);
    expect(one).not.toContain(first);
  });

  it('passes over events that were deleted or erased, however many there are', async () => {
    const workspace = await createWorkspace(app);
    const first = await open(workspace);
    await happens(workspace);
    await first.received(1);
    await withTenant(app.pools, workspace.id, async (db) => {
      for (let made = 0; made < 120; made++) await emit(db);
    });
    await first.received(121);
    first.close();
    await connected(app.ownerUrl, async (owner) => {
      await owner.query(`set app.migrating = 'on'`);
      const of = 'where workspace_id = $1 and id <> $2';
      const kept = [workspace.id, first.events[0]?.id];
      await owner.query(`delete from events ${of} and right(id, 1) < '8'`, kept);
      await owner.query(`update events set body = '{}' ${of}`, kept);
    });
    // In the first process its reads are shared for a moment.
    const second = await open(workspace, { url: other.url, lastEventId: first.events[0]?.id ?? '' });
    const message = await happens(workspace);
    await second.received(1);
    expect(messagesOf(second)).toEqual([message]);
  });

  it('begins with a reset where its last event is unknown, too old or of somebody else', async () => {
    const [workspace, stranger] = await Promise.all([createWorkspace(app), createWorkspace(app)]);
    const theirs = await open(stranger);
    await happens(stranger);
    await theirs.received(1);
    const old = newId(new Date(Date.now() - 31 * 86_400_000));
    for (const lastEventId of [newId(), old, lastIdOf(theirs), 'nonsense']) {
      const stream = await open(workspace, { lastEventId });
      const message = await happens(workspace);
      const [reset, next] = await stream.received(2);
      expect(reset).toMatchObject({ id: null, event: 'stream.reset' });
      expect(JSON.parse(reset?.data ?? '')).toMatchObject({
        event: 'stream.reset',
        workspaceId: workspace.id,
      });
      expect(JSON.parse(next?.data ?? '')).toMatchObject({ messageId: message });
      stream.close();
    }
  });
});

describe('the streams of a key', () => {
  it('are twenty at most, in all processes together', async () => {
    const workspace = await createWorkspace(app);
    const urls = Array.from({ length: 20 }, (_, index) => (index % 2 ? app.url : other.url));
    const streams = await Promise.all(urls.map((url) => open(workspace, { url })));
    expect(streams.map(({ status }) => status)).toEqual(Array(20).fill(200));
    for (const url of [app.url, other.url]) {
      const refused = await open(workspace, { url });
      expect(refused.status).toBe(429);
      expect(Number(refused.header('retry-after'))).toBeGreaterThan(0);
    }
    const metrics = async (): Promise<string> => (await fetch(`${app.url}/metrics`)).text();
    expect(await metrics()).toMatch(/^linepace_event_streams 10$/m);
    const key = await createKey(app, 'workspace', workspace.id);
    expect((await open({ key })).status).toBe(200);
    for (const stream of streams.slice(0, 2)) stream.close();
    await eventually(async () => (await open(workspace)).status === 200);
  });

  it('end within 30 seconds when it is revoked or the session has expired; others stay, with a comment', async () => {
    const workspace = await createWorkspace(app);
    const admin = await signIn(app, {
      userId: workspace.ownerId,
      organizationId: workspace.id,
      role: 'org:admin',
    });
    const expiring = await signIn(app, {
      userId: workspace.ownerId,
      organizationId: workspace.id,
      expiresIn: '2 seconds',
    });
    const call = apiClient(app.url, admin);
    const { body } = await call('POST', '/api/keys', { name: 'Short-lived' });
    const revoked = await open({ key: body.key as string });
    const expired = await open({ key: expiring });
    const stays = await open(workspace);
    await eventually(async () => stays.comments === 1);
    await call('DELETE', `/api/keys/${body._id}`);
    await eventually(async () => revoked.isClosed() && expired.isClosed());
    await eventually(async () => stays.comments > 1);
    expect(stays.isClosed()).toBe(false);
    const message = await happens(workspace);
    await stays.received(1);
    expect(messagesOf(stays)).toEqual([message]);
    expect([revoked.events, expired.events]).toEqual([[], []]);
  });
});

test('a process that stops ends its streams, and clients go on at another', async () => {
  const workspace = await createWorkspace(app);
  const stopping = await startApi({ ...app.config, port: 0 });
  const streams = await Promise.all([1, 2, 3].map(() => open(workspace, { url: stopping.url })));
  const first = await happens(workspace);
  for (const stream of streams) await stream.received(1);
  await stopping.stop();
  expect(streams.map((stream) => stream.isComplete())).toEqual([true, true, true]);
  const second = await happens(workspace);
  const [before] = streams as [TestStream];
  expect(messagesOf(before)).toEqual([first]);
  const after = await open(workspace, { lastEventId: lastIdOf(before) });
  await after.received(1);
  expect(messagesOf(after)).toEqual([second]);
});

/** A stream without a client library: a socket, and what it has received. */
interface RawStream {
  socket: Socket;
  text: string;
}

/** Opens a stream over a socket of its own, which reads until it is paused. */
async function openRaw(key: string, lastEventId = ''): Promise<RawStream> {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  const headers = [`Host: ${hostname}`, `Authorization: Bearer ${key}`];
  if (lastEventId !== '') headers.push(`Last-Event-ID: ${lastEventId}`);
  socket.write(`GET /api/events/stream HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
  const stream: RawStream = { socket, text: '' };
  socket.setEncoding('utf8').on('data', (part: string) => (stream.text += part));
  await once(socket, 'data');
  expect(stream.text).toMatch(/^HTTP\/1.1 200 /);
  return stream;
}

const matchesIn = ({ text }: RawStream, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, found]) => found ?? '');
const messagesIn = (stream: RawStream): string[] => matchesIn(stream, /"messageId":"(\w+)"/g);

test('a thousand streams of one process get all events, while one that does not read waits for its own, and resume', async () => {
  const workspaces = await Promise.all(Array.from({ length: 50 }, () => createWorkspace(app)));
  const busy = await createWorkspace(app);
  const [stuck, reading] = await Promise.all([openRaw(busy.key), openRaw(busy.key)]);
  /** Twenty for each workspace, which is as many as a key may have. */
  const openAll = async (of: TestWorkspace[], lastEventIds: string[] = []): Promise<RawStream[][]> => {
    const streams: RawStream[][] = [];
    for (const [index, { key }] of of.entries())
      streams.push(await Promise.all(Array.from({ length: 20 }, () => openRaw(key, lastEventIds[index]))));
    return streams;
  };
  const closeAll = (streams: RawStream[][]): void =>
    streams.flat().forEach(({ socket }) => void socket.destroy());
  const first = await openAll(workspaces);
  expect(await (await fetch(`${app.url}/metrics`)).text()).toMatch(/^linepace_event_streams 1002$/m);

  stuck.socket.pause();
  const made: string[] = [];
  // More than the buffers between the two take.
  for (let round = 0; round < 4; round++)
    await withTenant(app.pools, busy.id, async (db) => {
      for (let count = 0; count < 100; count++) made.push(await emit(db, 'x'.repeat(20_000)));
    });
  const messages = await Promise.all(workspaces.map(happens));
  const allHave = (streams: RawStream[][], expected: string[]) =>
    eventually(async () =>
      streams.every((of, index) =>
        of.every((stream) => messagesIn(stream).join() === (expected[index] ?? 'none')),
      ),
    );
  await allHave(first, messages);
  await eventually(async () => messagesIn(reading).length === made.length);
  expect(messagesIn(stuck).length).toBeLessThan(made.length);
  stuck.socket.resume();
  await eventually(async () => messagesIn(stuck).length === made.length);
  expect([messagesIn(stuck), messagesIn(reading)]).toEqual([made, made]);

  const seen = first.map(
    ([stream]) => (stream ? matchesIn(stream, /^id: (\w+)$/gm).at(-1) : undefined) ?? '',
  );
  closeAll([...first, [stuck, reading]]);
  const resuming = workspaces.slice(0, 10);
  const missed = await Promise.all(resuming.map(happens));
  // A stream that has ended counts until the server has seen that.
  await eventually(async () =>
    (await (await fetch(`${app.url}/metrics`)).text()).includes('linepace_event_streams 0'),
  );
  const second = await openAll(resuming, seen);
  await allHave(second, missed);
  closeAll(second);
});

test('a login of the database can neither read nor forge who looks at a conversation', async () => {
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id);
  const address = phone();
  await callBack(app, lineId, replyEvent(address, 'Hello'));
  const { ownerId: userId, id: organizationId } = workspace;
  const token = await signIn(app, { userId, organizationId, role: 'org:admin' });
  const report = (credential: string) =>
    apiClient(app.url, credential)('POST', `/api/conversations/${encodeURIComponent(address)}/presence`, {
      state: 'viewing',
    });
  await connected(app.config.database.tenantUrl, async (login) => {
    const heard: string[] = [];
    login.on('notification', ({ payload }) => heard.push(payload ?? ''));
    await login.query('listen conversation_presence');
    await report(token);
    await eventually(async () => {
      await login.query('select');
      return heard.length > 0;
    });
    for (const fact of [address, address.slice(1), userId, organizationId, 'viewing'])
      expect(heard.join()).not.toContain(fact);
    const forged = {
      event: 'conversation.presence',
      timestamp: new Date().toISOString(),
      workspaceId: organizationId,
      address,
      userId: 'user_forged',
      name: 'Mallory',
      state: 'typing',
      expiresAt: new Date(Date.now() + 60_000).toISOString(),
    };
    await login.query('select pg_notify($1, $2)', ['conversation_presence', JSON.stringify(forged)]);
    // What was announced later has arrived, so what was before has, too.
    const before = heard.length;
    await report(token);
    await eventually(async () => {
      await login.query('select');
      return heard.length > before;
    });
    expect((await report(token)).body.others).toEqual([]);
  });
});

test('a stream shows who looks at a conversation, if it asks for that, in every process', async () => {
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id);
  const address = phone();
  await callBack(app, lineId, replyEvent(address, 'Hello'));
  const streams = {
    here: await open(workspace, { query: '?presence=true' }),
    there: await open(workspace, { url: other.url, query: '?presence=true' }),
    without: await open(workspace),
    foreign: await open(await createWorkspace(app), { query: '?presence=true' }),
  };
  const token = await signIn(app, {
    userId: workspace.ownerId,
    organizationId: workspace.id,
    role: 'org:admin',
  });
  const path = `/api/conversations/${encodeURIComponent(address)}/presence`;
  const colleague = 'user_colleague';
  const report = (url: string, credential: string, state: string) =>
    apiClient(url, credential)('POST', path, { state });
  expect((await report(app.url, workspace.key, 'typing')).status).toBe(403);
  expect(await report(app.url, token, 'typing')).toMatchObject({ status: 200, body: { others: [] } });
  const expected = { event: 'conversation.presence', address, userId: workspace.ownerId, state: 'typing' };
  for (const stream of [streams.here, streams.there]) {
    await eventually(async () => stream.events.some(({ event }) => event === 'conversation.presence'));
    const shown = stream.events.find(({ event }) => event === 'conversation.presence');
    expect(shown?.id ?? null).toBeNull();
    expect(JSON.parse(shown?.data ?? '')).toMatchObject(expected);
  }
  // Somebody else hears of it by their own report, from the other process.
  await insertRow(app, 'users', { id: colleague, email: 'colleague@example.test' });
  const fields = { workspace_id: workspace.id, user_id: colleague, role: 'org:member' };
  await insertRow(app, 'workspace_members', fields);
  const second = await signIn(app, { userId: colleague, organizationId: workspace.id, role: 'org:member' });
  expect((await report(other.url, second, 'viewing')).body.others).toMatchObject([
    { userId: workspace.ownerId, state: 'typing' },
  ]);
  await report(app.url, token, 'left');
  await eventually(async () => (await report(other.url, second, 'viewing')).body.others.length === 0);
  for (const stream of [streams.without, streams.foreign])
    expect(stream.events.filter(({ event }) => event === 'conversation.presence')).toEqual([]);
  await connected(app.ownerUrl, async (owner) => {
    const { rows } = await owner.query('select from events where body like $1', ['%presence%']);
    expect(rows).toEqual([]);
  });
});

test('a stream shows that a contact types, if they have a conversation and have not opted out, and nothing is stored', async () => {
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id);
  const [address, optedOut, stranger] = [phone(), phone(), phone()];
  for (const from of [address, optedOut]) await callBack(app, lineId, replyEvent(from, 'Hello'));
  const api = apiClient(app.url, workspace.key);
  expect((await api('POST', '/api/opt-outs', { address: optedOut })).status).toBeLessThan(300);
  const streams = {
    here: await open(workspace, { query: '?presence=true' }),
    there: await open(workspace, { url: other.url, query: '?presence=true' }),
    without: await open(workspace),
  };
  const type = (from: string, isOn: boolean, at = new Date()) =>
    callBack(app, lineId, { kind: 'typing', eventId: newId(), at, from, isOn });
  const stored = () =>
    connected(app.ownerUrl, async (owner) => {
      const { rows } = await owner.query(
        'select (select count(*) from events) events, (select count(*) from carrier_events) reports',
      );
      return rows;
    });
  const before = await stored();
  const longAgo = new Date(Date.now() - 120_000);
  for (const [from, isOn, at] of [
    [optedOut, true],
    [stranger, true],
    [address, true, longAgo],
    [address, true],
    [address, false],
  ] as const)
    expect(await type(from, isOn, at)).toBe(200);
  const shown = ({ events }: TestStream) => events.filter(({ event }) => event === 'conversation.typing');
  for (const stream of [streams.here, streams.there]) {
    await eventually(async () => shown(stream).length >= 2);
    const about = { event: 'conversation.typing', workspaceId: workspace.id, address };
    expect(shown(stream).map(({ data }) => JSON.parse(data))).toMatchObject([
      { ...about, state: 'on' },
      { ...about, state: 'off' },
    ]);
    expect(shown(stream).map(({ id }) => id ?? null)).toEqual([null, null]);
  }
  expect(shown(streams.without)).toEqual([]);
  expect(await stored()).toEqual(before);
});
