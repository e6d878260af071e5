import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { age } from '#test/support/age.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { PNG, uploaded, wav } from '#test/support/files.ts';
import { writeIn } from '#test/support/inbound.ts';
import { runRetention } from '#test/support/workflows.ts';

let app: OwnApp;
let workspace: TestWorkspace;
let api: ApiClient;
let lineId: string;
beforeAll(async () => {
  app = await startTestApp();
  workspace = await createWorkspace(app);
  lineId = await createLine(app, workspace.id);
  api = apiClient(app.url, workspace.key);
});
afterAll(() => app.stop());

const DAY_MS = 86_400_000;
const photo = (): Promise<string> => uploaded(app, workspace.key, { name: 'photo.png', content: PNG });

async function send(attachmentUrl: string, fields = {}): Promise<{ id: string; to: string }> {
  const to = phone();
  const { status, body } = await api('POST', '/api/messages', {
    recipientPhone: to,
    attachmentUrls: [attachmentUrl],
    ...fields,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return { id: body._id, to };
}

const inAWeek = { scheduledDate: new Date(Date.now() + 7 * DAY_MS).toISOString() };

/** Makes files older by a number of days. */
const ageFiles = (days: number) =>
  age(
    app.pools,
    'attachments',
    ['created_at', 'kept_until'],
    `${days} days`,
    `workspace_id = '${workspace.id}'`,
  );

const statusesOf = async (links: Record<string, string>) =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(links).map(async ([name, link]) => [name, (await fetch(link)).status] as const),
    ),
  );

const filesStored = async (): Promise<number> =>
  (await readdir(join(app.config.storage.folder, workspace.id))).length;

test('uploads are deleted after their links expire, except those that are still needed', async () => {
  const uploads = {
    unused: await photo(),
    scheduled: await photo(),
    otherwiseSpelled: await photo(),
    campaign: await photo(),
    canceled: await photo(),
    lately: await photo(),
    voice: await uploaded(app, workspace.key, { name: 'a.wav', content: wav(1) }),
  };
  const first = await send(uploads.scheduled, inAWeek);
  await send(uploads.otherwiseSpelled.replace('photo', 'ph%6Fto').replace('http:', 'HTTP:'), inAWeek);
  const canceled = await send(uploads.canceled, inAWeek);
  expect((await api('POST', `/api/messages/${canceled.id}/cancel`)).status).toBe(200);
  const steps = [{ message: 'Look', attachmentUrls: [uploads.campaign], delay: {} }];
  expect((await api('POST', '/api/campaigns', { name: 'Pictures', steps })).status).toBe(201);
  for (const { to } of [await send(uploads.lately), await send(uploads.voice, { voiceNote: true })])
    await eventually(async () => (await sentTo(app, to)).length > 0);
  await writeIn(app, {
    lineId,
    from: phone(),
    text: 'Here it is',
    attachments: [{ name: 'theirs.png', contentType: 'image/png', base64: PNG.toString('base64') }],
  });
  const theirs = await eventually(async () => {
    const { body } = await api('GET', '/api/replies');
    return body.replies[0]?.attachmentDownloadUrls?.[0] as string | undefined;
  });
  const everything = { ...uploads, theirs };
  const stored = await filesStored();

  // Links expire within 366 days, and a carrier has another week to fetch files sent at the last minute.
  await ageFiles(373);
  await runRetention(app);
  expect(new Set(Object.values(await statusesOf(everything)))).toEqual(new Set([200]));

  await ageFiles(2);
  await runRetention(app);
  const needed = {
    scheduled: 200,
    otherwiseSpelled: 200,
    campaign: 200,
    lately: 200,
    voice: 200,
    theirs: 200,
  };
  expect(await statusesOf(everything)).toEqual({ ...needed, unused: 404, canceled: 404 });
  expect(await filesStored()).toBe(stored - 2);

  // Files that were needed are checked again: a week after the send, carriers no longer fetch them.
  await age(app.pools, 'messages', ['sent_at'], '8 days', `workspace_id = '${workspace.id}'`);
  await api('POST', `/api/messages/${first.id}/cancel`);
  await ageFiles(2);
  await runRetention(app);
  const left = { otherwiseSpelled: 200, campaign: 200, theirs: 200 };
  expect(await statusesOf(everything)).toEqual({
    ...left,
    unused: 404,
    canceled: 404,
    scheduled: 404,
    lately: 404,
    voice: 404,
  });
  // The voice note is deleted with its audio.
  expect(await filesStored()).toBe(Object.keys(left).length);
});
