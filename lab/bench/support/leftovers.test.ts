import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { processIdentity } from '../../../standalone/pid-file.ts';
import { becomesTrue } from '../../../standalone/wait.ts';
import { removeTemporaryFolder } from './leftovers.ts';

const BENCHMARK = fileURLToPath(new URL('leftovers.fixture.ts', import.meta.url));

test.for(['SIGINT', 'SIGTERM', 'SIGKILL', 'an error'])(
  'a benchmark that ends by %s leaves no server and no folder behind',
  { timeout: 30_000 },
  async (end) => {
    const benchmark = fork(BENCHMARK, { execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    const [{ pid, folder }] = (await once(benchmark, 'message')) as [{ pid: number; folder: string }];
    writeFileSync(join(folder, 'data'), '');
    expect(processIdentity(pid)).not.toBeNull();
    if (end === 'an error') benchmark.send('fail');
    else benchmark.kill(end as NodeJS.Signals);
    expect(await becomesTrue(() => processIdentity(pid) === null && !existsSync(folder), 20_000)).toBe(true);
  },
);

test('the data of PostgreSQL that is kept elsewhere goes with the folder of its benchmark', () => {
  const [folder, data] = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'linepace-leftovers-'))) as [
    string,
    string,
  ];
  mkdirSync(join(data, 'cluster'));
  symlinkSync(data, join(folder, 'postgres'));
  removeTemporaryFolder(folder);
  expect([folder, data].filter((path) => existsSync(path))).toEqual([]);
});
