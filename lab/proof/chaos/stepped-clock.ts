import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded before API and worker by `npm run chaos`: their `Date` is wrong by the milliseconds in `CLOCKS_DIR/api` and
 * `CLOCKS_DIR/worker`, which may change at any time. Clocks that only count, such as timers, go on.
 */
const LOOK_MS = 500;
const PARTS: Record<string, string> = { 'api/server.ts': 'api', 'workers/worker.ts': 'worker' };

const entry = process.argv[1] ?? '';
const part = PARTS[join(basename(dirname(entry)), basename(entry))];
if (part !== undefined && isMainThread) {
  const file = join(process.env['CLOCKS_DIR'] ?? '', part);
  let wrongByMs = 0;
  const look = (): void => {
    try {
      wrongByMs = Number(readFileSync(file, 'utf8'));
    } catch {
      wrongByMs = 0;
    }
  };
  look();
  setInterval(look, LOOK_MS).unref();
  const RealDate = Date;
  const now = (): number => RealDate.now() + wrongByMs;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as object,
    apply: () => new RealDate(now()).toString(),
    get: (target, name, receiver) =>
      name === 'now' ? now : (Reflect.get(target, name, receiver) as unknown),
  });
}
