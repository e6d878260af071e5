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

/** A program that is called ffmpeg, in a folder of its own. */
async function program(name: string, script: string): Promise<string> {
  await mkdir(join(folder, name));
  const path = join(folder, name, 'ffmpeg');
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

const native = (path: string): Ffmpeg => ({ command: [path], native: true });
const ABLE = 'echo "Encoder libopus [libopus Opus]:"; echo "Muxer caf [Apple CAF]:"';

describe('the ffmpeg that is used', () => {
  const searched = (...names: string[]) => names.map((name) => join(folder, name)).join(delimiter);

  it('is the configured one before all others, and no other instead of one that cannot', async () => {
    const [mine, theirs] = [await program('mine', ABLE), await program('theirs', ABLE)];
    expect(await findFfmpeg(mine, searched('theirs'))).toEqual(native(mine));
    await program('poor', 'echo "Muxer caf"; echo "Codec libopus is not recognized"');
    for (const wrong of [join(folder, 'poor', 'ffmpeg'), join(folder, 'none')])
      await expect(findFfmpeg(wrong, searched('theirs'))).rejects.toThrow('FFMPEG_PATH');
    expect(await findFfmpeg(null, searched('theirs'))).toEqual(native(theirs));
  });

  it('is the first on the search path that can, and WebAssembly where none can', async () => {
    await program('poor', 'echo "Encoder libopus"');
    await program('broken', 'exit 1');
    const locked = await program('locked', ABLE);
    await chmod(locked, 0o644);
    const able = await program('able', ABLE);
    await program('later', ABLE);
    const incapable = ['missing', 'poor', 'broken', 'locked'];
    expect(await findFfmpeg(null, searched(...incapable, 'able', 'later'))).toEqual(native(able));
    expect(await findFfmpeg(null, searched(...incapable))).toBe(WASM_FFMPEG);
    expect(await findFfmpeg(null, '')).toBe(WASM_FFMPEG);
  });
});

describe('an ffmpeg of the machine', () => {
  const untrusted = createUntrustedWork();
  afterAll(() => untrusted.close());

  const MB = 1024 * 1024;
  const limits = { seconds: 20, memoryBytes: 64 * MB, outputBytes: MB };
  const run = async (script: string, changed = {}) => {
    const make = createVoiceNoteMaker(native(await program('it', script)), untrusted, {
      ...limits,
      ...changed,
    });
    return (await make(Readable.from([wav(1)]), buffer)).toString();
  };

  it('knows nothing of our environment, and reads and writes in a folder that is gone afterwards', async () => {
    const told = await run(`{ env; pwd; ls; } > output`);
    expect(told).not.toContain('HOME=');
    const scratch = told.split('\n').find((line) => line.startsWith(tmpdir())) ?? '';
    expect(told).toContain('input\n');
    await expect(readdir(scratch)).rejects.toThrow('ENOENT');
  });

  it('may use no other protocol than files', async () => {
    expect(await run('echo "$@" > output')).toContain('-protocol_whitelist file,pipe ');
  });

  it.each([
    ['does not end', 'while :; do :; done', { seconds: 0.2 }, 'too long'],
    ['writes too much', '/usr/bin/head -c 3000000 /dev/zero > output; exit 1', {}, ''],
    // A last line that never ends is kept whole.
    [
      'takes too much memory',
      '/usr/bin/head -c 300000000 /dev/zero | /usr/bin/tail -n 1 > /dev/null || exit 1; : > output',
      {},
      '',
    ],
    ['says that the file is broken', 'echo "Invalid data" >&2; exit 183', {}, 'Invalid data'],
  ])('is stopped, and the file refused, when it %s', async (_, script, changed, reason) => {
    const refused = run(script, changed);
    await expect(refused).rejects.toThrow(UnreadableAudio);
    await expect(refused).rejects.toThrow(reason);
  });

  it('may complain as much as it likes', async () => {
    expect(await run('/usr/bin/head -c 3000000 /dev/zero >&2; echo fine > output')).toBe('fine\n');
  });

  it('that could not run says nothing about the file', async () => {
    for (const script of ['exec /nowhere/ffmpeg', 'echo "output: No space left on device" >&2; exit 1']) {
      const failed = run(script);
      await expect(failed).rejects.toThrow('could not run');
      await expect(failed).rejects.not.toThrow(UnreadableAudio);
      await rm(join(folder, 'it'), { recursive: true });
    }
  });
});
