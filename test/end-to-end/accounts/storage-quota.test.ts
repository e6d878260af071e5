import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { sql } from 'slonik';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { withSystem } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { connected } from '#db/connection/connected.ts';
import { age } from '#test/support/age.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, type ApiResponse, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { upload, wav } from '#test/support/files.ts';
import { writeIn } from '#test/support/inbound.ts';
import { runRetention } from '#test/support/workflows.ts';

const KB = 1024;
const MB = 1024 * KB;

/** 10 MB in total, and therefore 1 MB a day. */
const QUOTA_GB = String(10 / 1024);

let app: OwnApp;
let workspace: TestWorkspace;
let api: ApiClient;
let lineId: string;
beforeAll(async () => {
  app = await startTestApp({ environment: { STORAGE_QUOTA_GB: QUOTA_GB } });
});
afterAll(() => app.stop());
beforeEach(async () => {
  workspace = await createWorkspace(app);
  lineId = await createLine(app, workspace.id);
  api = apiClient(app.url, workspace.key);
});

const store = (bytes: number, headers = {}): Promise<ApiResponse> =>
  upload(app, workspace.key, { name: 'film.mp4', content: 'x'.repeat(bytes), type: 'video/mp4' }, headers);

const codeOf = ({ status, body }: ApiResponse) => [status, body.code];
const REFUSED = [413, 'STORAGE_QUOTA_EXCEEDED'];

const Use = z.object({ total: z.int(), today: z.int() });
const use = (): Promise<z.infer<typeof Use>> =>
  withSystem(app.pools, (db) =>
    db.one(sql.type(Use)`
      select coalesce(sum(bytes), 0)::int8 total, coalesce(sum(day_bytes), 0)::int8 today
      from storage_usage where workspace_id = ${workspace.id}`),
  );

/** Moves the usage to the previous day. Only triggers and the owner may write it. */
const passOneDay = (): Promise<unknown> =>
  connected(app.ownerUrl, (client) =>
    client.query('update storage_usage set day = day - 1 where workspace_id = $1', [workspace.id]),
  );

const filesStored = async (): Promise<number> =>
  (await readdir(join(app.config.storage.folder, workspace.id)).catch(() => [])).length;

test('a workspace may store exactly a tenth of its quota a day, and all of it in ten days', async () => {
  expect((await store(600 * KB)).status).toBe(200);
  const refused = await store(425 * KB);
  expect(codeOf(refused)).toEqual(REFUSED);
  expect(refused.body.error).toBe(
    'The workspace exceeds its storage limit of 1 MB per day; the next day starts at 00:00 UTC',
  );
  expect((await store(424 * KB)).status).toBe(200);
  expect(codeOf(await store(1))).toEqual(REFUSED);
  expect(await use()).toEqual({ total: MB, today: MB });
  expect(await filesStored()).toBe(2);

  for (let day = 2; day <= 10; day += 1) {
    await passOneDay();
    expect((await store(MB)).status).toBe(200);
  }
  await passOneDay();
  const full = await store(1);
  expect(codeOf(full)).toEqual(REFUSED);
  expect(full.body.error).toBe('The workspace exceeds its storage limit of 10 MB');
  // The quota of other workspaces is not affected.
  const other = await createWorkspace(app);
  expect((await upload(app, other.key, { name: 'a.mp4', content: 'x' })).status).toBe(200);
});

test('simultaneous uploads do not exceed the quota', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => store(300 * KB)));
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused.map(codeOf)).toEqual(Array.from({ length: 7 }, () => REFUSED));
  expect(await use()).toEqual({ total: 900 * KB, today: 900 * KB });
  expect(await filesStored()).toBe(3);
});

test('a repeated Idempotency-Key returns the first upload even if the quota is used up', async () => {
  const header = { 'idempotency-key': newId() };
  const first = await store(MB, header);
  expect(first.status).toBe(200);
  const again = await store(MB, header);
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  expect(again.body).toEqual(first.body);
  expect(codeOf(await store(MB, { 'idempotency-key': newId() }))).toEqual(REFUSED);
  expect(await use()).toEqual({ total: MB, today: MB });
});

test('a file for which there is no room is refused before it is read, whatever its Idempotency-Key', async () => {
  expect((await store(MB)).status).toBe(200);
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  // Announces ten megabytes and sends none.
  socket.write(
    [
      'POST /api/attachments/upload HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${workspace.key}`,
      `Idempotency-Key: ${newId()}`,
      'Content-Type: multipart/form-data; boundary=x',
      'Content-Length: 10000000',
      '\r\n',
    ].join('\r\n'),
  );
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 [\s\S]*STORAGE_QUOTA_EXCEEDED/);
  socket.destroy();
  expect(await filesStored()).toBe(1);
});

test('contacts have a budget of files a day, each and together, apart from uploads, and what exceeds it is fetched later', async () => {
  const [ada, bob, carl] = [phone(), phone(), phone()];
  const write = (from: string, name: string, bytes: number): Promise<unknown> =>
    writeIn(app, {
      lineId,
      from,
      text: name,
      attachments: [{ name, contentType: 'text/plain', base64: Buffer.alloc(bytes, 'x').toString('base64') }],
    });
  const Row = z.object({ name: z.string(), status: z.string(), waits: z.boolean(), tries: z.int() });
  const files = () =>
    withSystem(app.pools, (db) =>
      db.any(sql.type(Row)`
        select name, status, coalesce(try_at > now() + interval '1 second', false) waits, tries from attachments
        where workspace_id = ${workspace.id} and inbound_message_id is not null order by name`),
    );
  /** When each file is stored or waits. @returns the names of those that are stored. */
  const settled = (count: number) =>
    eventually(async () => {
      const found = await files();
      const isSettled = ({ status, waits }: z.infer<typeof Row>) => status === 'stored' || waits;
      return (
        found.length === count &&
        found.every(isSettled) &&
        found.filter(({ status }) => status === 'stored').map(({ name }) => name)
      );
    });
  const nextDay = async (name: string): Promise<unknown> => {
    await passOneDay();
    await withSystem(app.pools, (db) =>
      db.query(sql.type(z.unknown())`
        update attachments set try_at = now() where workspace_id = ${workspace.id} and status = 'waiting'`),
    );
    // Wakes the fetcher.
    return write(phone(), name, KB);
  };

  await write(ada, 'ada 1', 500 * KB);
  await settled(1);
  await write(ada, 'ada 2', 500 * KB);
  await write(ada, 'ada 3', 500 * KB);
  expect(await settled(3)).toEqual(['ada 1']);
  // What contacts send takes nothing from uploads.
  expect((await store(MB)).status).toBe(200);
  expect(codeOf(await store(1))).toEqual(REFUSED);
  await write(bob, 'bob', 500 * KB);
  expect(await settled(4)).toEqual(['ada 1', 'bob']);
  await write(carl, 'carl', 500 * KB);
  // The budget of the workspace is used up.
  expect(await settled(5)).toEqual(['ada 1', 'bob']);

  await nextDay('next 1');
  const second = await eventually(async () => (await settled(6)).length === 5 && settled(6));
  // One more of Ada's: which, is decided by the fetches, which take place at once.
  expect(second.filter((name) => name.startsWith('ada'))).toHaveLength(2);
  expect(second).toEqual(expect.arrayContaining(['ada 1', 'bob', 'carl', 'next 1']));
  await nextDay('next 2');
  await eventually(async () => (await settled(7)).length === 7);
  // A wait for the next day is no failed try.
  expect((await files()).map(({ tries }) => tries)).toEqual(Array.from({ length: 7 }, () => 0));
  expect(await use()).toEqual({ total: MB + 5 * 500 * KB + 2 * KB, today: 501 * KB });
});

test('contacts leave a tenth of the quota to uploads', async () => {
  await connected(app.ownerUrl, (client) =>
    client.query(
      `insert into storage_usage (workspace_id, bytes, day, day_bytes) values ($1, $2, now() at time zone 'UTC', 0)`,
      [workspace.id, 9 * MB],
    ),
  );
  const attachments = [
    { name: 'a.txt', contentType: 'text/plain', base64: Buffer.from('x').toString('base64') },
  ];
  await writeIn(app, { lineId, from: phone(), text: 'Hi', attachments });
  const Row = z.object({ status: z.string(), tries: z.int() });
  const row = await eventually(async () => {
    const found = await withSystem(app.pools, (db) =>
      db.maybeOne(sql.type(Row)`select status, tries from attachments where workspace_id = ${workspace.id}`),
    );
    return found !== null && found.tries > 0 && found;
  });
  expect(row.status).toBe('waiting');
  expect((await store(MB)).status).toBe(200);
});

test('the file of a running import and the recording of a call count against the quota', async () => {
  const list = (await api('POST', '/api/lists', { name: 'List' })).body.list._id as string;
  const startImport = async (bytes: number): Promise<ApiResponse> => {
    const row = 'ada@example.com\n';
    const csv = `email\n${row.repeat(Math.ceil(bytes / row.length))}`.slice(0, bytes);
    const response = await fetch(`${app.url}/api/lists/${list}/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${workspace.key}`, 'content-type': 'text/csv' },
      body: csv,
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  const { status, body } = await startImport(800 * KB);
  expect(status).toBe(202);
  expect(codeOf(await startImport(300 * KB))).toEqual(REFUSED);
  await eventually(
    async () => (await api('GET', `/api/lists/${list}/imports/${body.importId}`)).body.status === 'completed',
  );
  expect(await use()).toEqual({ total: 0, today: 800 * KB });

  await fetch(`${app.url}/simulated/carrier/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ lineId, from: phone(), to: phone(), seconds: 3, answered: true, recording: true }),
  });
  const recording = await eventually(async () => (await use()).total || false);
  expect(recording).toBeGreaterThan(100);
  expect((await use()).today).toBe(800 * KB + recording);
});

test('deleted files no longer count: expired uploads with their voice notes, and all files of a deleted workspace', async () => {
  const audio = wav(1);
  const { url } = (await upload(app, workspace.key, { name: 'a.wav', content: audio })).body;
  const to = phone();
  await api('POST', '/api/messages', { recipientPhone: to, attachmentUrls: [url], voiceNote: true });
  await eventually(async () => (await use()).total > audio.length);
  await eventually(async () => {
    const { body } = await api('GET', '/api/messages');
    return body.messages[0].status === 'delivered';
  });
  await age(app.pools, 'messages', ['sent_at'], '8 days', `workspace_id = '${workspace.id}'`);
  await withSystem(app.pools, (db) =>
    db.query(sql.type(z.unknown())`
      update attachments set kept_until = now() where workspace_id = ${workspace.id} and kept_until is not null`),
  );
  await runRetention(app);
  expect((await use()).total).toBe(0);
  expect(await filesStored()).toBe(0);

  await store(KB);
  await withSystem(app.pools, async (db) => {
    // Their lists would go before them.
    await db.query(sql.type(z.unknown())`delete from leads where workspace_id = ${workspace.id}`);
    await db.query(sql.type(z.unknown())`delete from workspaces where id = ${workspace.id}`);
  });
  expect(await use()).toEqual({ total: 0, today: 0 });
});
