import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { sharedApp } from '#test/support/app.ts';
import { environment } from '#test/support/process.ts';

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
