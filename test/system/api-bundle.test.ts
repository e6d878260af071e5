import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '#providers/free-port.ts';
import { runNode } from '#standalone/node-process.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { upload } from '#test/support/files.ts';
import { type AppProcess, startProcess } from '#test/support/process.ts';

let app: TestApp;
let bundled: AppProcess;
let url: string;

beforeAll(async () => {
  app = await sharedApp();
  await runNode('api/bundle.ts', process.env, AbortSignal.timeout(120_000));
  const port = await freePort();
  bundled = await startProcess('api/dist/server.js', app.config, port);
  url = `http://localhost:${port}`;
}, 180_000);
afterAll(() => bundled.kill());

test('the bundle of the API answers as its sources do', { timeout: 60_000 }, async () => {
  const read = async (from: string, path: string) => {
    const response = await fetch(from + path);
    return { status: response.status, text: await response.text() };
  };
  for (const path of ['/openapi.json', '/docs', '/docs/assets/swagger-ui.css', '/inbox/none'])
    expect(await read(url, path), path).toEqual(await read(app.url, path));
});

test('the bundle of the API finds the files beside its sources', { timeout: 60_000 }, async () => {
  const workspace = await createWorkspaceWithLine(app);
  const api = apiClient(url, workspace.key);
  const to = phone();
  const leads = [{ firstName: 'Ada', phone: to }];
  const [leadId] = (await api('POST', '/api/leads', { leads })).body.leadIds;
  expect(await api('POST', '/api/messages', { message: 'Hello', recipientPhone: to })).toMatchObject({
    status: 201,
  });
  // The typeface, and the process that looks into files.
  const evidence = await fetch(`${url}/api/leads/${leadId}/evidence?format=pdf`, {
    headers: { authorization: `Bearer ${workspace.key}` },
  });
  expect((await evidence.text()).slice(0, 5)).toBe('%PDF-');
  const program = { name: 'photo.jpg', content: Buffer.from('\x7fELF'.padEnd(100, '\0')) };
  const { body } = await upload({ ...app, url }, workspace.key, program);
  expect(body.error).toMatch(/application\/x-elf/);
});

test('the bundle of the API has one byte for each letter', () => {
  const code = readFileSync(new URL('../../api/dist/server.js', import.meta.url), 'utf8');
  expect(code.match(/.{0,60}[^\0-\x7f]/gu)).toBeNull();
});
