/*
 * A process of its own for one file of a stranger: ffmpeg as WebAssembly, which has neither files nor sockets. What it
 * reads and writes is handed over here.
 *
 * Usage: node ffmpeg-sandbox.ts <ffmpeg's arguments>; `input` and `output` are files of the working directory.
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

/** A shell's exit code for a program that cannot be started. */
const NOT_STARTED = 126;
const MAX_MEMORY_BYTES = 512 * 1024 * 1024;

limitMemory();
const core = await loadCore().catch((error: unknown) => {
  console.error(error);
  process.exit(NOT_STARTED);
});
core.setLogger(({ message }) => console.error(message));
core.setTimeout(-1);
core.FS.writeFile('input', await readFile('input'));
const code = run();
if (code === 0) await writeFile('output', core.FS.readFile('output'));
process.exit(code);

function run(): number {
  try {
    return core.exec(...process.argv.slice(2));
  } catch (error) {
    console.error(error);
    return 1;
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
