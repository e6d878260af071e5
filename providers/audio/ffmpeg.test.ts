import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { wav } from '#test/support/files.ts';
import { createUntrustedWork } from '../untrusted/processes.ts';
import { type Ffmpeg, findFfmpeg, WASM_FFMPEG } from './ffmpeg.ts';
import { createVoiceNoteMaker, UnreadableAudio } from './voice-note.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'linepace-ffmpeg-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Writes a script named ffmpeg into a new folder. @returns its path. */
async function fakeFfmpeg(name: string, script: string): Promise<string> {
  await mkdir(join(folder, name));
  const path = join(folder, name, 'ffmpeg');
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

const native = (path: string): Ffmpeg => ({ command: [path], native: true });
const CAPABLE = 'echo "Encoder libopus [libopus Opus]:"; echo "Muxer caf [Apple CAF]:"';

describe('findFfmpeg', () => {
  const searchPath = (...names: string[]) => names.map((name) => join(folder, name)).join(delimiter);

  it('prefers the configured program and fails if that one is not capable', async () => {
    const [mine, theirs] = [await fakeFfmpeg('mine', CAPABLE), await fakeFfmpeg('theirs', CAPABLE)];
    expect(await findFfmpeg(mine, searchPath('theirs'))).toEqual(native(mine));
    await fakeFfmpeg('poor', 'echo "Muxer caf"; echo "Codec libopus is not recognized"');
    for (const wrong of [join(folder, 'poor', 'ffmpeg'), join(folder, 'none')])
      await expect(findFfmpeg(wrong, searchPath('theirs'))).rejects.toThrow('FFMPEG_PATH');
    expect(await findFfmpeg(null, searchPath('theirs'))).toEqual(native(theirs));
  });

  it('otherwise returns the first capable program on the search path, or else WebAssembly', async () => {
    await fakeFfmpeg('poor', 'echo "Encoder libopus"');
    await fakeFfmpeg('broken', 'exit 1');
    const locked = await fakeFfmpeg('locked', CAPABLE);
    await chmod(locked, 0o644);
    const able = await fakeFfmpeg('able', CAPABLE);
    await fakeFfmpeg('later', CAPABLE);
    const incapable = ['missing', 'poor', 'broken', 'locked'];
    expect(await findFfmpeg(null, searchPath(...incapable, 'able', 'later'))).toEqual(native(able));
    expect(await findFfmpeg(null, searchPath(...incapable))).toBe(WASM_FFMPEG);
    expect(await findFfmpeg(null, '')).toBe(WASM_FFMPEG);
  });
});

describe('a native ffmpeg', () => {
  const untrusted = createUntrustedWork();
  afterAll(() => untrusted.close());

  const MB = 1024 * 1024;
  const limits = { seconds: 20, memoryBytes: 64 * MB, outputBytes: MB };
  const run = async (script: string, changed = {}) => {
    const make = createVoiceNoteMaker(native(await fakeFfmpeg('it', script)), untrusted, {
      ...limits,
      ...changed,
    });
    return (await make(Readable.from([wav(1)]), buffer)).toString();
  };

  it('runs without our environment, in a folder that is deleted afterwards', async () => {
    const output = await run(`{ env; pwd; ls; } > output`);
    expect(output).not.toContain('HOME=');
    const scratch = output.split('\n').find((line) => line.startsWith(tmpdir())) ?? '';
    expect(output).toContain('input\n');
    await expect(readdir(scratch)).rejects.toThrow('ENOENT');
  });

  it('may open files only, by no other protocol', async () => {
    expect(await run('echo "$@" > output')).toContain('-protocol_whitelist file,pipe ');
  });

  it.each([
    ['does not end', 'while :; do :; done', { seconds: 0.2 }, 'too long'],
    ['writes too much', '/usr/bin/head -c 3000000 /dev/zero > output; exit 1', {}, ''],
    // `tail` keeps a last line without end in memory.
    [
      'takes too much memory',
      '/usr/bin/head -c 300000000 /dev/zero | /usr/bin/tail -n 1 > /dev/null || exit 1; : > output',
      {},
      '',
    ],
    ['reports that the file is broken', 'echo "Invalid data" >&2; exit 183', {}, 'Invalid data'],
  ])('is stopped, and the file refused, when it %s', async (_, script, changed, reason) => {
    const refused = run(script, changed);
    await expect(refused).rejects.toThrow(UnreadableAudio);
    await expect(refused).rejects.toThrow(reason);
  });

  it('may write any amount to stderr', async () => {
    expect(await run('/usr/bin/head -c 3000000 /dev/zero >&2; echo fine > output')).toBe('fine\n');
  });

  it('that could not run does not make the file unreadable', async () => {
    for (const script of ['exec /nowhere/ffmpeg', 'echo "output: No space left on device" >&2; exit 1']) {
      const failed = run(script);
      await expect(failed).rejects.toThrow('could not run');
      await expect(failed).rejects.not.toThrow(UnreadableAudio);
      await rm(join(folder, 'it'), { recursive: true });
    }
  });
});
