/*
 * A process of its own for one file of a stranger: ffmpeg as WebAssembly, which has neither files nor sockets. What it
 * reads and writes is handed over here.
 *
 * Usage: node ffmpeg-sandbox.ts <input> <output>; exits with 3 when the input cannot be read.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** What TypeScript knows of browsers only. */
declare const WebAssembly: { Memory: { prototype: WasmMemory } };
interface WasmMemory {
  buffer: ArrayBuffer;
  grow(pages: number): number;
}

interface FfmpegCore {
  FS: { writeFile(path: string, content: Uint8Array): void; readFile(path: string): Uint8Array };
  setLogger(log: (line: { type: string; message: string }) => void): void;
  setTimeout(ms: number): void;
  /** @returns ffmpeg's exit code. */
  exec(...args: string[]): number;
}

const UNREADABLE = 3;
const MAX_MEMORY_BYTES = 512 * 1024 * 1024;

/** Opus in Apple's Core Audio Format, mono: what Messages records. Playlists, which name other files, are no input. */
const ARGUMENTS = [
  '-nostdin -v error -protocol_whitelist file,pipe -format_whitelist aac,caf,matroska,mov,mp3,ogg,w64,wav -i input',
  '-map 0:a:0 -map_metadata -1 -ac 1 -ar 48000 -c:a libopus -b:a 32k -f caf output',
].flatMap((part) => part.split(' '));

limitMemory();
const [input = '', output = ''] = process.argv.slice(2);
const core = await loadCore();
core.setLogger(({ message }) => console.error(message));
core.setTimeout(-1);
core.FS.writeFile('input', await readFile(input));
if (!decoded()) process.exit(UNREADABLE);
await writeFile(output, core.FS.readFile('output'));
process.exit(0);

function decoded(): boolean {
  try {
    return core.exec(...ARGUMENTS) === 0;
  } catch (error) {
    console.error(error);
    return false;
  }
}

/** WebAssembly's memory is not part of the heap that `--max-old-space-size` limits. */
function limitMemory(): void {
  const { grow } = WebAssembly.Memory.prototype;
  WebAssembly.Memory.prototype.grow = function (this: WasmMemory, pages: number) {
    if (this.buffer.byteLength + pages * 65_536 > MAX_MEMORY_BYTES) throw new RangeError('too much memory');
    return grow.call(this, pages);
  };
}

async function loadCore(): Promise<FfmpegCore> {
  // It is made for a browser's worker and looks for one.
  Object.assign(globalThis, {
    self: globalThis,
    location: { href: import.meta.url },
    WorkerGlobalScope: Object,
    importScripts: () => {},
  });
  const { default: createCore } = (await import(import.meta.resolve('@ffmpeg/core'))) as {
    default(options: { wasmBinary: Uint8Array }): Promise<FfmpegCore>;
  };
  return createCore({ wasmBinary: await readFile(fileURLToPath(import.meta.resolve('@ffmpeg/core/wasm'))) });
}
