import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { play } from '#test/support/core-audio.ts';
import { wav } from '#test/support/files.ts';
import { findFfmpeg, WASM_FFMPEG } from './ffmpeg.ts';
import { createUntrustedWork } from '../untrusted/processes.ts';
import { createVoiceNoteMaker, UnreadableAudio } from './voice-note.ts';

// Every conversion starts a process and compiles thirty megabytes of WebAssembly.
vi.setConfig({ testTimeout: 60_000 });

const untrusted = createUntrustedWork();
afterAll(() => untrusted.close());

const own = await findFfmpeg(null, process.env['PATH'] ?? '');
const fixture = (name: string): Promise<Buffer> =>
  readFile(new URL(`../../test/fixtures/audio/${name}`, import.meta.url));

describe.each([
  ['the WebAssembly build', WASM_FFMPEG, true],
  ['the ffmpeg of this machine', own, own.native],
])('a voice note made by %s', (_name, ffmpeg, isAvailable) => {
  const makeVoiceNote = createVoiceNoteMaker(ffmpeg, untrusted);
  const note = (audio: Buffer) => makeVoiceNote(Readable.from([audio]), buffer);

  it
    .skipIf(!isAvailable)
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
    ])('plays the same audio as %s', async (name) => {
    const played = await play(await note(await fixture(name)));
    expect([played.codec, played.channels]).toEqual(['opus', 1]);
    // All are a tone of 440 Hz for 1.5 seconds; encoders add some silence at the start and end.
    expect(Math.abs(played.seconds - 1.5)).toBeLessThan(0.15);
    expect(Math.abs(played.hertz - 440)).toBeLessThan(440 * 0.08);
  });

  it.skipIf(!isAvailable).each([
    ['nothing', ''],
    ['text', 'not audio '.repeat(1000)],
    ['a playlist that names other files', '#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n'],
    ['a list of files to join', 'ffconcat version 1.0\nfile /etc/hostname\n'],
    ['a truncated file', wav(1).subarray(0, 40)],
  ])('is not made of %s', async (_, content) => {
    await expect(note(Buffer.from(content))).rejects.toThrow(UnreadableAudio);
  });
});
