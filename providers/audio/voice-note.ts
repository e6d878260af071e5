import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pLimit from 'p-limit';
import { MAX_TRANSCRIBED_SECONDS } from '../models/transcriber.ts';
import { SCRATCH_PREFIX, Unreadable, type UntrustedWork } from '../untrusted/processes.ts';
import { type Ffmpeg, type Limits, runFfmpeg } from './ffmpeg.ts';

export const VOICE_NOTE_TYPE = 'audio/x-caf';

/** More than an hour of audio. */
export const MAX_NOTE_BYTES = 100 * 1024 * 1024;

/** The WebAssembly build converts an hour of audio in about half of the time. */
const LIMITS: Limits = { seconds: 60, memoryBytes: 1024 ** 3, outputBytes: MAX_NOTE_BYTES };
/** Each conversion takes up to a gigabyte of memory and a processor. */
const CONCURRENCY = 2;

/** The allowed demuxers by detected file type. Playlists, which refer to other files, are not allowed. */
const DEMUXERS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['mp3', 'mp2', 'mp1', 'aac'].map((type) => [type, 'mp3,aac'])),
  ...Object.fromEntries(['m4a', 'mp4', 'm4v', 'mov', '3gp', '3g2'].map((type) => [type, 'mov'])),
  ...Object.fromEntries(['ogg', 'oga', 'ogv', 'ogx', 'opus', 'spx'].map((type) => [type, 'ogg'])),
  wav: 'wav',
  caf: 'caf',
};
const ALL_DEMUXERS = 'aac,caf,mov,mp3,ogg,wav';

const DECODERS = [
  'aac,alac,flac,mp1,mp1float,mp2,mp2float,mp3,mp3float,opus,libopus,speex,libspeex,vorbis,libvorbis,amrnb,amrwb',
  'adpcm_ima_qt,adpcm_ima_wav,adpcm_ms,pcm_alaw,pcm_mulaw,pcm_s8,pcm_u8,pcm_s16be,pcm_s16le,pcm_s24be,pcm_s24le',
  'pcm_s32be,pcm_s32le,pcm_f32be,pcm_f32le,pcm_f64be,pcm_f64le',
].join(',');

/** Apple's Core Audio Format, which is what Messages records, or at most ten minutes in the one that models for transcription take. */
const FORMATS = {
  caf: '-f caf file:output',
  ogg: `-t ${MAX_TRANSCRIBED_SECONDS} -f ogg file:output`,
};
type NoteFormat = keyof typeof FORMATS;

/** Mono Opus. */
const noteArguments = (demuxers: string, format: NoteFormat): string[] =>
  [
    '-nostdin -hide_banner -v error -threads 1 -protocol_whitelist file,pipe',
    `-format_whitelist ${demuxers} -codec_whitelist ${DECODERS} -i file:input`,
    '-map 0:a:0 -map_metadata -1 -ac 1 -ar 48000 -c:a libopus -b:a 32k -threads 1',
    FORMATS[format],
  ].flatMap((part) => part.split(' '));

/** The exit codes of a shell for a program that cannot be started. */
const NOT_STARTED = [126, 127];

/** The file cannot be decoded; a retry is pointless. */
export class UnreadableAudio extends Error {
  override readonly name = 'UnreadableAudio';
}

/**
 * Converts an audio file to a voice note and passes it to `store`.
 * @throws UnreadableAudio
 */
export type MakeVoiceNote = <T>(
  audio: Readable,
  store: (note: Readable) => Promise<T>,
  format?: NoteFormat,
) => Promise<T>;

export function createVoiceNoteMaker(
  ffmpeg: Ffmpeg,
  untrusted: UntrustedWork,
  limits = LIMITS,
): MakeVoiceNote {
  const limit = pLimit(CONCURRENCY);
  return (audio, store, format = 'caf') =>
    limit(async () => {
      const scratch = await mkdtemp(SCRATCH_PREFIX);
      try {
        await pipeline(audio, createWriteStream(join(scratch, 'input')));
        const demuxers = await demuxersFor(scratch, untrusted);
        await transcode(ffmpeg, noteArguments(demuxers, format), scratch, limits);
        return await store(createReadStream(join(scratch, 'output')));
      } finally {
        await rm(scratch, { recursive: true, force: true });
      }
    });
}

async function demuxersFor(scratch: string, untrusted: UntrustedWork): Promise<string> {
  const found = await untrusted.run(scratch, 'typeOfFile', join(scratch, 'input')).catch((error: unknown) => {
    throw error instanceof Unreadable ? new UnreadableAudio(error.message) : error;
  });
  const demuxers = found ? DEMUXERS[found.ext] : ALL_DEMUXERS;
  if (demuxers === undefined) throw new UnreadableAudio(`it is ${found?.mime}`);
  return demuxers;
}

async function transcode(
  ffmpeg: Ffmpeg,
  args: readonly string[],
  scratch: string,
  limits: Limits,
): Promise<void> {
  const { code, signal, tookTooLong, stderr } = await runFfmpeg(ffmpeg, args, scratch, limits);
  const reason = stderr.trim().slice(0, 500);
  if (tookTooLong) throw new UnreadableAudio('it took too long');
  // A program that cannot start, or a full disk, says nothing about the file.
  if (code !== null && (NOT_STARTED.includes(code) || /No space left on device/i.test(stderr)))
    throw new Error(`ffmpeg could not run: ${reason}`);
  // A program terminated by a signal has exceeded its limits.
  if (code !== 0)
    throw new UnreadableAudio(signal === null ? reason : `it was stopped by ${signal}: ${reason}`);
  const { size } = await stat(join(scratch, 'output'));
  if (size > limits.outputBytes) throw new UnreadableAudio('it is too long');
}
