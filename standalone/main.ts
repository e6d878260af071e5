import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { greeting } from './greeting.ts';
import { createLauncher, type Launcher, type Progress } from './launcher.ts';
import { STOP_TIMEOUT_MS } from './parts.ts';
import { readSettings } from './settings.ts';

/** Under npm, one Ctrl-C arrives twice: from the terminal and from npm. */
const SAME_PRESS_MS = 500;

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;
const progress: Progress = {
  done: (what, startedAt) => console.log(`✓ ${what} (${seconds(startedAt)})`),
  note: (line) => console.log(line),
};

function fail(error: unknown): void {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

/** Every part has its own deadline; this one is for the launcher as a whole. */
async function stopWithin(launcher: Launcher): Promise<void> {
  const timer = setTimeout(() => {
    launcher.kill();
    process.exit(1);
  }, STOP_TIMEOUT_MS);
  await launcher.stop();
  clearTimeout(timer);
}

async function main(): Promise<void> {
  // What the product stores is for this user only.
  process.umask(0o077);
  const startedAt = performance.now();
  const settings = readSettings(process.env);
  const launcher = createLauncher(settings, process.env, progress);
  let stoppingSince: number | null = null;

  const stop = async (): Promise<void> => {
    if (stoppingSince !== null) {
      if (performance.now() - stoppingSince < SAME_PRESS_MS) return;
      launcher.kill();
      process.exit(130);
    }
    stoppingSince = performance.now();
    console.log('\nStopping. Press Ctrl-C again to stop immediately …');
    await stopWithin(launcher);
    console.log(`Stopped (${seconds(stoppingSince)}).`);
    process.exit();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect']) process.on(signal, () => void stop());

  const demoFile = join(settings.DATA_DIR, 'demo.json');
  const firstStart = !existsSync(demoFile);
  try {
    const addresses = await launcher.start();
    console.log(`\nLinepace is ready (${seconds(startedAt)}).`);
    console.log(greeting(addresses, demoFile, firstStart));
  } catch (error) {
    // The start failed because it was interrupted.
    if (stoppingSince !== null) return;
    fail(error);
    await stopWithin(launcher);
    process.exit();
  }
}

// The reader of the output may exit before everything has stopped; a broken pipe must not end this process.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

await main().catch((error: unknown) => {
  fail(error);
  process.exit();
});
