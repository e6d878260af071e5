import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { play } from '#test/support/core-audio.ts';
import { wav } from '#test/support/files.ts';
import { findFfmpeg, WASM_FFMPEG } from './ffmpeg.ts';
import { createUntrustedWork } from '../untrusted/processes.ts';
import { createVoiceNoteMaker, UnreadableAudio } from './voice-note.ts';

// A process each, with thirty megabytes of WebAssembly to compile.
vi.setConfig({ testTimeout: 60_000 });

const untrusted = createUntrustedWork();
afterAll(() => untrusted.close());

const own = await findFfmpeg(null, process.env['PATH'] ?? '');
const fixture = (name: string): Promise<Buffer> =>
  readFile(new URL(`../../test/fixtures/audio/${name}`, import.meta.url));

describe.each([
  ['the WebAssembly build', WASM_FFMPEG, true],
  ['the ffmpeg of this machine', own, own.native],
])('a voice note by %s', (_name, ffmpeg, there) => {
  const makeVoiceNote = createVoiceNoteMaker(ffmpeg, untrusted);
  const note = (audio: Buffer) => makeVoiceNote(Readable.from([audio]), buffer);

  it
    .skipIf(!there)
    .each([
      'tone.mp3',
      'cover.mp3',
      'tone.m4a',
      'lossless.m4a',
      'tone.wav',
      'tone.aac',
      'tone.ogg',
      'opus.ogg',
      'tone.caf',
      'opus.caf',
    ])('plays what %s plays', async (name) => {
    const played = await play(await note(await fixture(name)));
    expect([played.codec, played.channels]).toEqual(['opus', 1]);
    // All are a tone of 440 Hz for one and a half seconds; encoders begin and end with some silence of their own.
    expect(Math.abs(played.seconds - 1.5)).toBeLessThan(0.15);
    expect(Math.abs(played.hertz - 440)).toBeLessThan(440 * 0.08);
  });

  it.skipIf(!there).each([
    ['nothing', ''],
    ['text', 'not audio '.repeat(1000)],
    ['a playlist that names other files', '#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n'],
    ['a list of files to join', 'ffconcat version 1.0\nfile /etc/hostname\n'],
    ['a file that broke off', wav(1).subarray(0, 40)],
  ])('is not made of %s', async (_, content) => {
    await expect(note(Buffer.from(content))).rejects.toThrow(UnreadableAudio);
  });
});
