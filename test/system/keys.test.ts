import { randomBytes } from 'node:crypto';
import { sql } from 'slonik';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { startApi } from '#api/server.ts';
import { connected } from '#db/connection/connected.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { freePort } from '#providers/free-port.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';
import { startTwilio } from '#simulator/twilio.ts';
import { phone } from '#test/support/carrier.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspaceWithLine } from '#test/support/factories.ts';
import { startWorker } from '#workers/worker.ts';

let app: OwnApp;
beforeAll(async () => void (app = await startTestApp()));
afterAll(() => app.stop());

const otherKeys = (): string => `other:${randomBytes(32).toString('base64')}`;
const readyz = async (url: string) => {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, body: (await response.json()) as { checks: Record<string, string> } };
};
const attemptsOf = (messageId: string): Promise<number> =>
  systemDb(app.pools).oneFirst(
    sql.type(z.object({ count: z.int() }))`select count(*) from attempts where message_id = ${messageId}`,
  );

test.each(['encryptionKeys', 'signingKeys'] as const)(
  'a process with other %s than those before is not ready, sends nothing, and loses nothing',
  async (name) => {
    const { api, lineId } = await createWorkspaceWithLine(app);
    const endpoint = await startTestEndpoint();
    await registerWebhook(api, endpoint.url);
    await app.stopWorker();
    const metricsPort = await freePort();
    const wrong = { ...app.config, [name]: otherKeys(), metricsPort };
    const worker = await startWorker(wrong, { codePath: inject('workflowBundle') });
    const other = await startApi({ ...wrong, port: 0, metricsPort: null });
    const sent = await api('POST', '/api/messages', {
      message: 'Hello',
      recipientPhone: phone(),
      fromLineId: lineId,
    });
    for (const url of [`http://127.0.0.1:${metricsPort}`, other.url]) {
      const { status, body } = await readyz(url);
      expect([status, body.checks['keys'], body.checks['postgresql']]).toEqual([503, 'failed', 'ok']);
      const metrics = await (await fetch(`${url}/metrics`)).text();
      expect(metrics).toMatch(/^linepace_ready\{check="keys"\} 0$/m);
      expect(metrics).toMatch(/^linepace_ready\{check="postgresql"\} 1$/m);
    }
    await worker.stop();
    await other.stop();
    expect(await attemptsOf(sent.body._id)).toBe(0);
    expect((await api('GET', `/api/messages/${sent.body._id}`)).body.status).toBe('pending');

    await app.startWorker();
    await eventually(async () => endpoint.received.length === 1);
    expect((await readyz(app.url)).body.checks['keys']).toBe('ok');
  },
);

const openOf = (webhookId: string): Promise<number> =>
  systemDb(app.pools).oneFirst(sql.type(z.object({ count: z.int() }))`
    select count(*) from webhook_deliveries where webhook_id = ${webhookId} and status <> 'done'`);

/** Stores what a key has encrypted that the process does not have. */
const loseKey = (table: string, column: string, id: string, back = false): Promise<unknown> =>
  connected(app.ownerUrl, (client) =>
    client.query(
      `update ${table} set ${column} = replace(${column}::text, $2, $3)::${column === 'carrier_config' ? 'jsonb' : 'text'} where id = $1`,
      [id, back ? 'v1.lost.' : 'v1.1.', back ? 'v1.1.' : 'v1.lost.'],
    ),
  );

test('what cannot be decrypted is neither claimed nor lost, while all else goes on', async () => {
  const { id: workspaceId, api, lineId } = await createWorkspaceWithLine(app);
  const [lost, kept] = [await startTestEndpoint(), await startTestEndpoint()];
  const { id: webhookId } = await registerWebhook(api, lost.url);
  await registerWebhook(api, kept.url);
  const sealedLine = await createLine(app, workspaceId, 'sms');
  const twilio = await startTwilio(TWILIO_ACCOUNT);
  onTestFinished(() => twilio.stop());
  const { sid: accountSid, authToken } = TWILIO_ACCOUNT;
  const { status: put } = await api('PUT', `/api/lines/${sealedLine}/carrier`, {
    provider: 'twilio',
    config: { accountSid, authToken, baseUrl: twilio.url },
  });
  expect(put).toBe(200);
  await loseKey('webhooks', 'secret_sealed', webhookId);
  await loseKey('lines', 'carrier_config', sealedLine);

  const send = async (line: string, messageType: string): Promise<string> => {
    const { status, body } = await api('POST', '/api/messages', {
      message: 'Hello',
      recipientPhone: phone(),
      fromLineId: line,
      messageType,
    });
    expect(status, JSON.stringify(body)).toBe(201);
    return body._id;
  };
  const waiting = await send(sealedLine, 'sms');
  await send(lineId, 'imessage');
  await eventually(async () => kept.received.length === 1);
  await eventually(async () => (await openOf(webhookId)) === 1);
  expect(lost.received).toEqual([]);
  expect(await attemptsOf(waiting)).toBe(0);
  expect((await api('GET', `/api/messages/${waiting}`)).body.status).toBe('pending');

  await loseKey('webhooks', 'secret_sealed', webhookId, true);
  await eventually(async () => lost.received.length === 1, 100_000);
}, 180_000);
