import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'slonik';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { withSystem } from '#db/transactions.ts';
import { newId } from '#domain/ids.ts';
import { connected } from '#db/connected.ts';
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

test('files of contacts beyond the quota of a day are fetched the next day, and their messages are stored', async () => {
  const from = phone();
  const attachment = (name: string, bytes: number) => ({
    name,
    contentType: 'text/plain',
    base64: Buffer.alloc(bytes, 'x').toString('base64'),
  });
  const shown = (text: string, attachmentNames: string[]) =>
    eventually(async () => {
      const [conversation] = (await api('GET', '/api/replies')).body.replies;
      const reply = conversation?.recentReplies.find((found: { message: string }) => found.message === text);
      return JSON.stringify(reply?.attachmentNames) === JSON.stringify(attachmentNames);
    });
  await writeIn(app, { lineId, from, text: 'First', attachments: [attachment('small.txt', 700 * KB)] });
  await shown('First', ['small.txt']);
  expect(await use()).toEqual({ total: 700 * KB, today: 700 * KB });

  const attachments = [attachment('large.txt', 600 * KB), attachment('fits.txt', 100 * KB)];
  await writeIn(app, { lineId, from, text: 'Second', attachments });
  const rows = await eventually(async () => {
    const found = await withSystem(app.pools, (db) =>
      db.any(sql.type(z.object({ name: z.string(), status: z.string(), failure: z.string().nullable() }))`
        select name, status, failure from attachments where workspace_id = ${workspace.id} order by name`),
    );
    return found.length === 3 && found.filter(({ status }) => status === 'stored').length === 2 && found;
  });
  expect(rows).toMatchObject([
    { name: 'fits.txt', status: 'stored' },
    { name: 'large.txt', status: 'waiting', failure: null },
    { name: 'small.txt', status: 'stored' },
  ]);
  await shown('Second', ['fits.txt']);
  await eventually(async () => {
    const { body } = await api('GET', '/api/replies');
    return body.replies.length > 0;
  });
  expect(await use()).toEqual({ total: 800 * KB, today: 800 * KB });
  expect(await filesStored()).toBe(2);

  await passOneDay();
  await withSystem(app.pools, (db) =>
    db.query(sql.type(z.unknown())`
      update attachments set try_at = now() where workspace_id = ${workspace.id} and status = 'waiting'`),
  );
  await writeIn(app, { lineId, from, text: 'Third', attachments: [attachment('next.txt', KB)] });
  await shown('Second', ['large.txt', 'fits.txt']);
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
