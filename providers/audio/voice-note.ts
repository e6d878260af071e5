import { execFile, type ExecFileException } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pLimit from 'p-limit';

const run = promisify(execFile);
/** The sandbox's exit code for a file that is no audio. */
const UNREADABLE = 3;
const SANDBOX = fileURLToPath(new URL('./ffmpeg-sandbox.ts', import.meta.url));

/** An hour of audio takes about half of it. */
const TIME_LIMIT_MS = 60_000;
/** Each takes up to half a gigabyte, and a processor for itself. */
const AT_ONCE = 2;

export const VOICE_NOTE_TYPE = 'audio/x-caf';

/** The file is no audio that can be read, now or ever. */
export class UnreadableAudio extends Error {
  override readonly name = 'UnreadableAudio';
}

const limit = pLimit(AT_ONCE);

/**
 * Makes an audio file into the native form of a voice note (specification §4.3) and hands that to `store`.
 * @throws UnreadableAudio
 */
export function makeVoiceNote<T>(audio: Readable, store: (note: Readable) => Promise<T>): Promise<T> {
  return limit(async () => {
    const scratch = await mkdtemp(join(tmpdir(), 'linepace-audio-'));
    const [input, output] = [join(scratch, 'input'), join(scratch, 'output')];
    try {
      await pipeline(audio, createWriteStream(input));
      await transcode(input, output);
      return await store(createReadStream(output));
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  });
}

async function transcode(input: string, output: string): Promise<void> {
  const options = ['--max-old-space-size=256', '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON'];
  try {
    // Nothing of our environment: there are secrets in it.
    await run(process.execPath, [...options, SANDBOX, input, output], {
      timeout: TIME_LIMIT_MS,
      killSignal: 'SIGKILL',
      env: {},
    });
  } catch (error) {
    const { code, killed, signal, stderr } = error as ExecFileException;
    // One that could not even begin says nothing about the file; one that was stopped was too much for its limits.
    if (code !== UNREADABLE && !signal) throw error;
    throw new UnreadableAudio(killed ? 'it took too long' : (stderr ?? '').trim().slice(0, 500));
  }
}
