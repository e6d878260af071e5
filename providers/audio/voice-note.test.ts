import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { wav } from '#test/support/files.ts';
import { makeVoiceNote, UnreadableAudio } from './voice-note.ts';

it('makes mono Opus in a Core Audio file', async () => {
  const note = await makeVoiceNote(Readable.from([wav(1)]), buffer);
  expect([note.toString('latin1', 0, 4), note.toString('latin1', 28, 32), note.readUInt32BE(44)]).toEqual([
    'caff',
    'opus',
    1,
  ]);
});

it.each([
  ['nothing', ''],
  ['text', 'not audio '.repeat(1000)],
  ['a playlist that names other files', '#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n'],
  ['a list of files to join', 'ffconcat version 1.0\nfile /etc/hostname\n'],
  ['a file that broke off', wav(1).subarray(0, 40)],
])('refuses %s', async (_, content) => {
  await expect(makeVoiceNote(Readable.from([Buffer.from(content)]), buffer)).rejects.toThrow(UnreadableAudio);
});
