import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { pidFile, STOP_TIMEOUT_MS, stopLeftovers } from './parts.ts';
import { livePid, stopByPidFile, writePidFile } from './pid-file.ts';
import { requireFreePorts } from './ports.ts';
import { type Settings, wantedPorts } from './settings.ts';
import { becomesTrue } from './wait.ts';

/** How long a start waits for an earlier launcher that is stopping. */
const PREVIOUS_LAUNCHER_MS = 3000;
/** How long a start waits for the ports of processes that were just killed. */
const PORT_RELEASE_MS = 10_000;

/**
 * Claims the data folder for this launcher.
 * @returns whether the launcher that had it before was killed.
 * @throws if another launcher is running with it and is not stopping.
 */
export async function claimDataFolder(dataDir: string, note: (line: string) => void): Promise<boolean> {
  mkdirSync(dataDir, { recursive: true });
  // For root, PostgreSQL runs as another user, whose files may be in there.
  if (process.getuid?.() !== 0) chmodSync(dataDir, 0o700);
  await waitForLauncher(dataDir, note);
  const wasKilled = existsSync(pidFile(dataDir, 'launcher'));
  writePidFile(pidFile(dataDir, 'launcher'), process.pid);
  return wasKilled;
}

/** @throws if another launcher is running with the same data and is not stopping. */
async function waitForLauncher(dataDir: string, note: (line: string) => void): Promise<void> {
  const running = livePid(pidFile(dataDir, 'launcher'));
  if (running === null) return;
  note(`Waiting for process ${running}, which uses ${dataDir}, to exit …`);
  const started = performance.now();
  const isStopping = (): boolean => livePid(pidFile(dataDir, 'stopping')) !== null;
  await becomesTrue(
    () =>
      livePid(pidFile(dataDir, 'launcher')) === null ||
      (performance.now() - started > PREVIOUS_LAUNCHER_MS && !isStopping()),
    STOP_TIMEOUT_MS,
  );
  if (livePid(pidFile(dataDir, 'launcher')) !== null)
    throw new Error(
      `Process ${running} already uses ${dataDir}. Stop it, or set DATA_DIR to another folder.`,
    );
}

/**
 * Stops the processes that a killed launcher left running in a claimed data folder.
 * @throws naming every port that stays in use.
 */
export async function clearEarlierStart(
  settings: Settings,
  wasKilled: boolean,
  note: (line: string) => void,
): Promise<void> {
  const { DATA_DIR: dataDir } = settings;
  // The old guard would stop the same processes.
  await stopByPidFile(pidFile(dataDir, 'guard'), 'SIGKILL');
  await stopLeftovers(dataDir, note);
  const ports = wantedPorts(settings);
  const free = (): Promise<boolean> =>
    requireFreePorts(ports).then(
      () => true,
      () => false,
    );
  if (!(await becomesTrue(free, wasKilled ? PORT_RELEASE_MS : 0))) await requireFreePorts(ports);
}
