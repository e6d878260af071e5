import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { createUntrustedWork, SCRATCH_PREFIX, Unreadable } from './processes.ts';

const png = new Uint8Array(100);
png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 73, 72, 68, 82]);

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Has a process read something with the code in a folder. @returns what it prints. */
async function readIn(folder: string): Promise<string> {
  const script = `
    import { createUntrustedWork } from '#providers/untrusted/processes.ts';
    console.log(await createUntrustedWork().run('a', 'typeOfContent', new Uint8Array(100)));`;
  const program = ['--input-type=module', '-e', script];
  return (await promisify(execFile)(process.execPath, program, { cwd: folder })).stdout;
}

describe('untrusted content', () => {
  const work = createUntrustedWork();
  afterAll(() => work.close());

  it('is read by another process, which is reused', async () => {
    expect(await work.run('a', 'typeOfContent', png)).toEqual({ ext: 'png', mime: 'image/png' });
    expect(await work.run('a', 'typeOfContent', new Uint8Array(100))).toBeNull();
  });

  it.runIf(process.platform === 'linux')(
    'is read by the process that ends first when memory runs out',
    async () => {
      await work.run('a', 'typeOfContent', png);
      const threads = await readdir('/proc/self/task');
      const lists = await Promise.all(
        threads.map((thread) => readFile(`/proc/self/task/${thread}/children`, 'utf8')),
      );
      const scores = () =>
        Promise.all(
          lists
            .flatMap((list) => list.trim().split(' '))
            .filter((pid) => pid !== '')
            .map(async (pid) => (await readFile(`/proc/${pid}/oom_score_adj`, 'utf8')).trim()),
        );
      await vi.waitFor(async () => expect(await scores()).toContain('1000'));
    },
  );

  it('is read from the files under conversion and from no other file', async () => {
    const folder = await mkdtemp(SCRATCH_PREFIX);
    const path = join(folder, 'input');
    await writeFile(path, png);
    expect(await work.run('a', 'typeOfFile', path)).toMatchObject({ ext: 'png' });
    await rm(folder, { recursive: true });
    await expect(work.run('a', 'typeOfFile', '/etc/hostname')).rejects.toThrow(Unreadable);
  });

  it('fails only its own job when it takes too long', async () => {
    const strict = createUntrustedWork({ deadlineMs: 1 });
    try {
      const large = new Uint8Array(50_000_000);
      await expect(strict.run('a', 'typeOfContent', large)).rejects.toThrow('it took too long');
      expect(await work.run('a', 'typeOfContent', png)).not.toBeNull();
    } finally {
      strict.close();
    }
  });

  it('does not keep its parent process alive', async () => {
    expect(await readIn(ROOT)).toBe('null\n');
  });

  it('is read where node_modules is a link', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'linepace-linked-'));
    for (const name of ['package.json', 'providers', 'domain'])
      await cp(join(ROOT, name), join(folder, name), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    expect(await readIn(folder)).toBe('null\n');
    await rm(folder, { recursive: true });
  });
});
