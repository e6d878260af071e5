import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { History, Payload } from '@temporalio/common/lib/proto-utils.js';
import type { ApplicationFailure } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createPayloadCodec, dataConverter } from '#providers/payload-codec.ts';
import { findTemporalCli } from '#standalone/temporal-cli.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { ask, DANA, refusalOf } from '#test/support/operators.ts';
import { signIn } from '#test/support/sessions.ts';
import { newId } from '#domain/base/ids.ts';
import { bundleWorkflows } from '#workers/workflow-bundle.ts';
import { skipMessage } from '#workflows/protocol/updates.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

const newKey = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;
const KEYS = newKey('1');
/** The message of a failure. */
const REFUSAL = 'messageId: the line h';
const UI = 'https://temporal.example.com';
const OPERATOR = 'user_operator';
const HISTORIES = new URL('../histories/', import.meta.url);

let app: OwnApp;
let pacer: string;
let code: string;
let refusal: ApplicationFailure;
let histories: { workflowId: string; history: History }[];

beforeAll(async () => {
  app = await startTestApp({
    environment: {
      TEMPORAL_CODEC_KEYS: `${KEYS},only`,
      TEMPORAL_CODEC_OPERATORS: `user_other, ${OPERATOR}`,
      TEMPORAL_UI_ORIGIN: UI,
    },
  });
  ({ code } = await bundleWorkflows(KEYS));
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id);
  pacer = linePacerId(lineId);
  const to = phone();
  await apiClient(app.url, workspace.key)('POST', '/api/messages', { message: 'Hello', recipientPhone: to });
  await eventually(async () => (await sentTo(app, to)).length === 1);
  refusal = await refusalOf(ask(app.temporal, pacer, skipMessage, { ...DANA, messageId: newId() }));
  await app.stopWorker();
  histories = [];
  for await (const { workflowId, runId } of app.temporal.workflow.list()) {
    const history = await app.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    // Of a workflow that has not begun there is nothing to replay.
    if ((history.events ?? []).length > 1) histories.push({ workflowId, history });
  }
});
afterAll(() => app.stop());

/**
 * What the SDK's core and the server write themselves: search attributes, which the server has to read, and of a marker
 * the name of its local activity or patch and its times.
 */
const NEVER_ENCODED = ['searchAttributes', 'patch-data', 'data'];

/** Every payload of a history that holds something of ours. */
function payloadsIn(value: unknown): Payload[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  if ('metadata' in value && 'data' in value) return [value as Payload];
  return Object.entries(value).flatMap(([name, inner]) =>
    NEVER_ENCODED.includes(name) ? [] : payloadsIn(inner),
  );
}

const encodingOf = ({ metadata }: Payload): string => Buffer.from(metadata?.['encoding'] ?? []).toString();

async function replay(keys: string | null, saved: Iterable<{ workflowId: string; history: unknown }>) {
  const failed: string[] = [];
  const options = { workflowBundle: { code }, dataConverter: dataConverter(keys) };
  for await (const { workflowId, error } of Worker.runReplayHistories(options, saved))
    if (error) failed.push(workflowId);
  return failed;
}

describe('histories, with TEMPORAL_CODEC_KEYS', () => {
  it('hold no readable payload, and no readable failure', () => {
    expect(refusal).toMatchObject({ type: 'NOT_FOUND', message: expect.stringContaining(REFUSAL) });
    const payloads = histories.flatMap(({ history }) => payloadsIn(history));
    expect(payloads.length).toBeGreaterThan(20);
    expect(new Set(payloads.map(encodingOf))).toEqual(new Set(['binary/encrypted']));
    const text = JSON.stringify(histories);
    expect(text).toContain('"message":"Encoded failure"');
    expect(text).not.toContain(REFUSAL);
    expect(text).not.toContain('maintenance');
  });

  it('replay with the key, and with the key behind a newer one', async () => {
    expect(await replay(KEYS, histories)).toEqual([]);
    expect(await replay(`${KEYS},only`, histories)).toEqual([]);
    expect(await replay(`${newKey('2')},${KEYS}`, histories)).toEqual([]);
    expect(await replay(`plain,${KEYS}`, histories)).toEqual([]);
  });

  it('replay from before the codec', async () => {
    const saved = ['linePacer', 'linePacer.refused', 'campaign.updated'].map((workflowId) => ({
      workflowId,
      history: JSON.parse(readFileSync(new URL(`${workflowId}.json`, HISTORIES), 'utf8')) as unknown,
    }));
    expect(await replay(KEYS, saved)).toEqual([]);
    expect(await replay(`${KEYS},only`, saved)).toEqual(saved.map(({ workflowId }) => workflowId));
  });
});

describe('the codec endpoint', () => {
  const decode = async (credential: string, headers: Record<string, string> = {}) => {
    const [sealed] = await createPayloadCodec(KEYS).encode([
      { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"the text"') },
    ]);
    const [metadata, data] = [sealed?.metadata ?? {}, sealed?.data ?? Buffer.of()];
    const base64 = Object.entries(metadata).map(([name, value]) => [
      name,
      Buffer.from(value).toString('base64'),
    ]);
    const payload = { metadata: Object.fromEntries(base64), data: Buffer.from(data).toString('base64') };
    const body = { payloads: [payload] };
    return apiClient(app.url, credential)('POST', '/codec/decode', body, headers);
  };

  it('decodes a history for the command line of an operator', async () => {
    const program = await findTemporalCli(() => {});
    const token = await signIn(app, { userId: OPERATOR });
    const show = async (...codec: string[]): Promise<string> => {
      const server = ['--address', inject('temporalAddress'), '--namespace', app.temporal.options.namespace];
      const run = ['workflow', 'show', '--workflow-id', pacer, '--output', 'json'];
      const { stdout } = await promisify(execFile)(program, [...run, ...server, ...codec]);
      const data = [...stdout.matchAll(/"data": ?"([^"]*)"/g)];
      return data.map(([, base64 = '']) => Buffer.from(base64, 'base64').toString()).join('\n');
    };
    expect(await show()).not.toContain('maintenance');
    const decoded = await show('--codec-endpoint', `${app.url}/codec`, '--codec-auth', `Bearer ${token}`);
    expect(decoded).toContain('maintenance');
    expect(decoded).toContain(REFUSAL);
  });

  it('encodes what an operator sends, and decodes it again', async () => {
    const call = apiClient(app.url, await signIn(app, { userId: OPERATOR }));
    const plain = { metadata: { encoding: btoa('json/plain') }, data: btoa('{"by":"Dana"}') };
    const { body } = await call('POST', '/codec/encode', { payloads: [plain] });
    expect(atob(body.payloads[0].metadata.encoding)).toBe('binary/encrypted');
    expect((await call('POST', '/codec/decode', body)).body).toEqual({ payloads: [plain] });
  });

  it('decodes for nobody else', async () => {
    expect(await decode('')).toMatchObject({ status: 401 });
    expect(await decode('not.a.token')).toMatchObject({ status: 401 });
    const { key, id, ownerId } = await createWorkspace(app);
    expect(await decode(key)).toMatchObject({ status: 403, body: { code: 'SESSION_REQUIRED' } });
    const admin = await signIn(app, { userId: ownerId, organizationId: id, role: 'org:admin' });
    expect(await decode(admin)).toMatchObject({ status: 403, body: { code: 'OPERATOR_REQUIRED' } });
  });

  it('reports a payload of an unknown key', async () => {
    const call = apiClient(app.url, await signIn(app, { userId: OPERATOR }));
    const metadata = { encoding: btoa('binary/encrypted'), 'encryption-key-id': btoa('9') };
    const { status, body } = await call('POST', '/codec/decode', { payloads: [{ metadata, data: '' }] });
    expect(status).toBe(400);
    expect(body.error).toContain('the key 9 of a payload is not in TEMPORAL_CODEC_KEYS');
  });

  it('lets the origin of the Temporal UI call it, and no other', async () => {
    const preflight = (origin: string) =>
      apiClient(app.url, '')('OPTIONS', '/codec/decode', undefined, { origin });
    const allowed = await preflight(UI);
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get('access-control-allow-origin')).toBe(UI);
    expect(allowed.headers.get('access-control-allow-headers')).toContain('authorization');
    expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull();
    const token = await signIn(app, { userId: OPERATOR });
    const { status, headers } = await decode(token, { origin: UI });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, UI]);
  });
});
