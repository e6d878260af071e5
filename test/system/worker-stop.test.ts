import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { eventually, sharedApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { hang, startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { environment, startProcess } from '#test/support/process.ts';

test('a worker that is stopped while it waits for Temporal ends', async () => {
  const { config } = await sharedApp({ worker: false });
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const worker = fork(new URL('../../workers/worker.ts', import.meta.url), {
    env: { ...process.env, ...environment(config), TEMPORAL_ADDRESS: `127.0.0.1:${port}` },
    execArgv: [],
  });
  try {
    const [socket] = (await once(silent, 'connection')) as [Socket];
    worker.kill('SIGTERM');
    expect(await once(worker, 'exit')).toEqual([null, 'SIGTERM']);
    socket.destroy();
  } finally {
    worker.kill('SIGKILL');
    silent.close();
  }
});

test('a worker that is stopped ends within 13 seconds, though an endpoint and a carrier do not answer', async () => {
  const app = await sharedApp({ worker: false });
  const endpoint = await startTestEndpoint(hang);
  const { api } = await createWorkspaceWithLine(app);
  await api('POST', '/api/webhooks', { url: endpoint.url, events: ['message.sent'] });
  const worker = await startProcess('workers/worker.ts', app.config);
  await api('POST', '/api/messages', { message: 'Hello', recipientPhone: phone() });
  await eventually(async () => endpoint.received.length > 0);
  await api('POST', '/api/messages', { message: 'Hello', recipientPhone: phone('0009') });
  const stoppedAt = performance.now();
  process.kill(worker.pid, 'SIGTERM');
  await eventually(async () => !isRunning(worker.pid), 30_000);
  expect(performance.now() - stoppedAt).toBeLessThan(13_500);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
