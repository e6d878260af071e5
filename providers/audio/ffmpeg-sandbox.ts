/*
 * A separate process that converts one untrusted file. It runs ffmpeg as WebAssembly, which has no access to files or
 * sockets; its input and output are copied here.
 *
 * Usage: node ffmpeg-sandbox.ts <ffmpeg's arguments>; `input` and `output` are files in the working directory.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** TypeScript declares it only for browsers. */
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

/** The exit code of a shell for a program that cannot be started. */
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

/** `--max-old-space-size` does not limit the memory of WebAssembly. */
function limitMemory(): void {
  const { grow } = WebAssembly.Memory.prototype;
  WebAssembly.Memory.prototype.grow = function (this: WasmMemory, pages: number) {
    if (this.buffer.byteLength + pages * 65_536 > MAX_MEMORY_BYTES) throw new RangeError('too much memory');
    return grow.call(this, pages);
  };
}

async function loadCore(): Promise<FfmpegCore> {
  // The build expects to run in a browser's worker.
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
