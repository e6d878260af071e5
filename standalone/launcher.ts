import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { hashConsoleCode, newConsoleCode } from '#domain/accounts/console-code.ts';
import { isBuilt } from '#console/sources.ts';
import { freePort } from '#providers/free-port.ts';
import { MEMORY_VARIABLES, WORKER_FLAGS } from '#workers/node-flags.ts';
import { claimDataFolder, clearEarlierStart } from './data-folder.ts';
import { databaseLogins } from './database-logins.ts';
import { readLively } from './lively-file.ts';
import { fileURLToPath } from 'node:url';
import { runNode, startNode } from './node-process.ts';
import { type Part, PARTS, pidFile, STOP_ORDER } from './parts.ts';
import { writePidFile } from './pid-file.ts';
import { startPostgres } from './postgres.ts';
import { loadSecrets } from './secrets.ts';
import { keepRunning, type Service, type ServiceOptions } from './service.ts';
import { type Settings, withoutEmpty, workerMetricsPort } from './settings.ts';
import { findTemporalCli } from './temporal-cli.ts';
import { startTemporal } from './temporal.ts';
import { becomesTrue } from './wait.ts';

export interface Launcher {
  /** Starts all parts in order. @throws if one does not start; call `stop` to stop the others. */
  start(): Promise<Addresses>;
  /** Stops all parts in reverse order within `STOP_TIMEOUT_MS`. */
  stop(): Promise<void>;
  /** Kills all parts without waiting. */
  kill(): void;
}

export interface Addresses {
  apiUrl: string;
  temporalUiUrl: string;
  /** Signs in to the demo workspace once; null if an identity provider is configured. */
  consoleUrl: string | null;
  /** Whether the console opens on the lively demo. */
  isLively: boolean;
}

export interface Progress {
  /** Called when a part is ready. */
  done(what: string, startedAt: number): void;
  /** Anything else the operator should know. */
  note(line: string): void;
}

/** An API that has exited while the demo was played is restarted within this time. */
const RESTARTED_MS = 60_000;
const DEMO_ATTEMPTS = 3;

/** The whole product on one machine: PostgreSQL, Temporal, simulated providers, API, worker and demo data. */
export function createLauncher(
  settings: Settings,
  environment: NodeJS.ProcessEnv,
  progress: Progress,
): Launcher {
  const { DATA_DIR: dataDir } = settings;
  const inDataDir = (...names: string[]): string => join(dataDir, ...names);
  const logFile = (name: Part): string => inDataDir('logs', `${name}.log`);
  const services = new Map<Part, Service>();
  const stopping = new AbortController();
  let guard: ChildProcess | undefined;
  let ownsData = false;

  async function step<T>(title: string, action: () => Promise<T>): Promise<T> {
    if (stopping.signal.aborted) throw new Error('stopped');
    const startedAt = performance.now();
    const result = await action();
    progress.done(title, startedAt);
    return result;
  }

  const run = (part: Part, start: ServiceOptions['start']): Promise<void> => {
    const { title } = PARTS[part];
    return step(title, () => {
      const service = keepRunning({
        name: title,
        start,
        pidFile: pidFile(dataDir, part),
        logFile: logFile(part),
        log: progress.note,
      });
      services.set(part, service);
      return service.started;
    });
  };

  /** @returns the database URL of the owner. */
  async function database(): Promise<string> {
    if (settings.DATABASE_URL !== undefined) return settings.DATABASE_URL;
    let url = '';
    await run('postgres', async (onSpawn) => {
      const port = settings.POSTGRES_PORT;
      ({ url } = await startPostgres({
        dataDir: inDataDir('postgres'),
        port,
        logFile: logFile('postgres'),
        onSpawn,
        note: progress.note,
      }));
    });
    return url;
  }

  /** Where Temporal is, before it runs: host:port, and the URL of its Web UI, '' if unknown. */
  const temporalAddress = settings.TEMPORAL_ADDRESS ?? `127.0.0.1:${settings.TEMPORAL_PORT}`;
  const temporalUiUrl =
    settings.TEMPORAL_ADDRESS === undefined
      ? `http://localhost:${settings.TEMPORAL_UI_PORT}`
      : (environment['TEMPORAL_UI_URL'] ?? '');

  async function temporal(): Promise<void> {
    if (settings.TEMPORAL_ADDRESS !== undefined) return;
    const program = await findTemporalCli(progress.note);
    await run('temporal', (onSpawn) =>
      startTemporal({
        program,
        port: settings.TEMPORAL_PORT,
        uiPort: settings.TEMPORAL_UI_PORT,
        dbFile: inDataDir('temporal.db'),
        logFile: logFile('temporal'),
        onSpawn,
      }),
    );
  }

  /** Starts the process that stops PostgreSQL and Temporal if this one is killed. */
  function startGuard(): void {
    guard = spawn(process.execPath, [fileURLToPath(new URL('guard.ts', import.meta.url)), dataDir], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      detached: true,
    });
    // The launcher does not wait for it.
    guard.on('error', (error) => progress.note(`The guard did not start: ${error.message}`));
    if (guard.pid !== undefined) writePidFile(pidFile(dataDir, 'guard'), guard.pid);
  }

  /** Builds the console's pages if they have changed. Without them the product still starts. */
  async function buildConsole(): Promise<void> {
    const startedAt = performance.now();
    try {
      if (await isBuilt()) return;
      await runNode('console/build.ts', environment, stopping.signal);
      progress.done('Console', startedAt);
    } catch (error) {
      if (stopping.signal.aborted) return;
      progress.note(`The console is not built: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Plays the month of the lively demo, unless it has been played. The product works in the meantime. */
  async function fillDemo(env: NodeJS.ProcessEnv, apiUrl: string): Promise<void> {
    const startedAt = performance.now();
    const answers = (): Promise<boolean> =>
      fetch(`${apiUrl}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
    for (let attempt = 1; ; attempt += 1) {
      try {
        if ((await readLively(dataDir))?.complete !== false) return;
        await runNode('standalone/demo-life.ts', env, stopping.signal);
        return progress.done('Demo month', startedAt);
      } catch (error) {
        if (stopping.signal.aborted) return;
        const reason = error instanceof Error ? error.message : String(error);
        if (attempt === DEMO_ATTEMPTS)
          return progress.note(`The demo is not complete; the next start makes it anew: ${reason}`);
        progress.note(`The demo was interrupted, and is made anew: ${reason}`);
        await becomesTrue(() => stopping.signal.aborted || answers(), RESTARTED_MS);
      }
    }
  }

  return {
    async start() {
      const wasKilled = await claimDataFolder(dataDir, progress.note);
      ownsData = true;
      await clearEarlierStart(settings, wasKilled, progress.note);
      startGuard();
      // In parallel: no other step depends on it.
      const consoleBuilt = buildConsole();
      const secrets = await loadSecrets(dataDir);
      // Chosen once, so that a restarted simulator has the same ports.
      const simulatorPort = settings.SIMULATOR_PORT ?? (await freePort());
      const smtpPort = settings.SIMULATOR_SMTP_PORT ?? (await freePort());
      const apiUrl = `http://localhost:${settings.PORT}`;
      const env: NodeJS.ProcessEnv = {
        // Loopback only, unless the operator sets HOST.
        HOST: '127.0.0.1',
        PUBLIC_URL: apiUrl,
        SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
        WEBHOOK_ALLOW_PRIVATE: '1',
        ...MEMORY_VARIABLES,
        // Halves the time that a process needs to start.
        NODE_COMPILE_CACHE: join(dataDir, 'compile-cache'),
        ...secrets,
        ...withoutEmpty(environment),
        PORT: String(settings.PORT),
        DATA_DIR: dataDir,
        DATABASE_URL: undefined,
        DATABASE_OWNER_URL: undefined,
        TEMPORAL_ADDRESS: temporalAddress,
        TEMPORAL_UI_URL: temporalUiUrl,
        SIMULATOR_URL: `http://127.0.0.1:${simulatorPort}`,
        SIMULATOR_PORT: String(simulatorPort),
        SIMULATOR_SMTP_PORT: String(smtpPort),
      };
      const service = (part: Part, entry: string, env: NodeJS.ProcessEnv, flags: readonly string[] = []) =>
        run(part, (onSpawn) => startNode(entry, env, logFile(part), onSpawn, flags));

      // What does not depend on each other starts side by side: most of its time goes into loading modules.
      async function migrated() {
        const ownerUrl = await database();
        const logins = databaseLogins(ownerUrl);
        const ofLogins = { DATABASE_URL: logins.tenantUrl, DATABASE_SYSTEM_URL: logins.systemUrl };
        // Only short-lived scripts get the owner's login.
        const ofOwner = { ...env, ...ofLogins, DATABASE_OWNER_URL: ownerUrl };
        await step('Database schema', () => runNode('db/migrate.ts', ofOwner, stopping.signal));
        return { ofOwner, ofProcesses: { ...env, ...ofLogins } };
      }
      const [{ ofOwner, ofProcesses }] = await Promise.all([
        migrated(),
        temporal(),
        service('simulator', 'simulator/server.ts', env),
      ]);
      const metricsPort = settings.METRICS_PORT;
      const ofWorker = {
        ...ofProcesses,
        ...(metricsPort !== undefined && { METRICS_PORT: String(workerMetricsPort(metricsPort)) }),
      };
      const consoleCode = env['AUTH_JWKS_URL'] === undefined ? newConsoleCode() : null;
      const ofDemo = {
        ...ofOwner,
        CONSOLE_CODE_HASH: consoleCode === null ? undefined : hashConsoleCode(consoleCode),
        DEMO: settings.DEMO,
      };
      await Promise.all([
        service('api', 'api/server.ts', ofProcesses),
        service('worker', 'workers/worker.ts', ofWorker, WORKER_FLAGS),
        step('Demo data', () => runNode('standalone/demo-data.ts', ofDemo, stopping.signal)),
      ]);
      const isLively = settings.DEMO === 'lively' && consoleCode !== null;
      if (isLively) void fillDemo(ofProcesses, apiUrl);
      await consoleBuilt;
      const consoleUrl = consoleCode === null ? null : `${apiUrl}/console#code=${consoleCode}`;
      return { apiUrl, temporalUiUrl, consoleUrl, isLively };
    },
    async stop() {
      stopping.abort();
      if (!ownsData) return;
      writePidFile(pidFile(dataDir, 'stopping'), process.pid);
      for (const parts of STOP_ORDER) {
        await Promise.all(parts.map(async (part) => services.get(part)?.stop(PARTS[part].stopTimeoutMs)));
      }
      // All processes have exited, so another launcher can use the data.
      guard?.kill('SIGKILL');
      for (const name of ['guard', 'stopping', 'launcher'] as const) {
        rmSync(pidFile(dataDir, name), { force: true });
      }
    },
    kill() {
      stopping.abort();
      // The guard stops what is left.
      for (const service of services.values()) service.kill();
    },
  };
}
