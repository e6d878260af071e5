import { spawn } from 'node:child_process';
import { stopAtEnd, temporaryFolder } from './leftovers.ts';

// As servers do, it does not end with its parent.
const server = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
  detached: true,
  stdio: 'ignore',
});
const folder = temporaryFolder('linepace-bench-test-');
stopAtEnd({ pid: server.pid ?? 0 }, 'SIGTERM');
process.on('message', () => {
  throw new Error('the benchmark failed');
});
process.send?.({ pid: server.pid, folder });
