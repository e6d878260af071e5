import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { databaseLogins } from './database-logins.ts';
import { runNode, startNode } from './node-process.ts';
import { livePid, stopByPidFile, writePidFile } from './pid-file.ts';
import { freePort, requireFreePorts } from './ports.ts';
import { startPostgres } from './postgres.ts';
import { loadSecrets } from './secrets.ts';
import { keepRunning, type Service, type ServiceOptions } from './service.ts';
import { type Settings, wantedPorts, withoutEmpty } from './settings.ts';
import { findTemporalCli } from './temporal-cli.ts';
import { startTemporal } from './temporal.ts';

export interface Launcher {
  /** Starts everything, in order. @throws where one part does not start; `stop` then ends the others. */
  start(): Promise<Addresses>;
  /** Ends everything, last started first. */
  stop(): Promise<void>;
  /** Kills everything at once, without waiting. */
  kill(): void;
}

export interface Addresses {
  apiUrl: string;
  temporalUiUrl: string;
}

export interface Progress {
  /** A part is up. */
  done(what: string, startedAt: number): void;
  /** Anything else the operator should know. */
  note(line: string): void;
}

/** The parts that run, in the order of their start, and what ends each politely. */
const PARTS = {
  postgres: { title: 'PostgreSQL', signal: 'SIGINT' },
  temporal: { title: 'Temporal', signal: 'SIGTERM' },
  simulator: { title: 'Simulator', signal: 'SIGTERM' },
  api: { title: 'API', signal: 'SIGTERM' },
  worker: { title: 'Worker', signal: 'SIGTERM' },
} as const;
type Part = keyof typeof PARTS;

/** The whole product on one machine: PostgreSQL, Temporal, simulated providers, API, worker and demo data. */
export function createLauncher(
  settings: Settings,
  environment: NodeJS.ProcessEnv,
  progress: Progress,
): Launcher {
  const { DATA_DIR: dataDir } = settings;
  const inDataDir = (...names: string[]): string => join(dataDir, ...names);
  const logFile = (name: Part): string => inDataDir('logs', `${name}.log`);
  const pidFile = (name: Part | 'launcher'): string => inDataDir('run', `${name}.pid`);
  const services: Service[] = [];
  let stopping = false;

  async function step<T>(title: string, action: () => Promise<T>): Promise<T> {
    if (stopping) throw new Error('stopped');
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
        pidFile: pidFile(part),
        logFile: logFile(part),
        log: progress.note,
      });
      services.push(service);
      return service.started;
    });
  };

  /** @returns the URL of the database, as its owner. */
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
      }));
    });
    return url;
  }

  /** @returns host:port of the server, and the URL of its Web UI, empty where it is not known. */
  async function temporal(): Promise<{ address: string; uiUrl: string }> {
    const { TEMPORAL_ADDRESS: address, TEMPORAL_PORT: port, TEMPORAL_UI_PORT: uiPort } = settings;
    if (address !== undefined) return { address, uiUrl: environment['TEMPORAL_UI_URL'] ?? '' };
    const program = await findTemporalCli(progress.note);
    await run('temporal', (onSpawn) =>
      startTemporal({
        program,
        port,
        uiPort,
        dbFile: inDataDir('temporal.db'),
        logFile: logFile('temporal'),
        onSpawn,
      }),
    );
    return { address: `127.0.0.1:${port}`, uiUrl: `http://localhost:${uiPort}` };
  }

  /** What a killed launcher left running would hold the ports; the data folder of a live one is not touched. */
  async function clearTheWay(): Promise<void> {
    mkdirSync(dataDir, { recursive: true });
    const running = livePid(pidFile('launcher'));
    if (running !== null) {
      throw new Error(
        `Process ${running} already runs with ${dataDir}; set DATA_DIR to another folder, or stop it.`,
      );
    }
    for (const [part, { title, signal }] of Object.entries(PARTS).toReversed()) {
      const pid = await stopByPidFile(pidFile(part as Part), signal);
      if (pid !== null) progress.note(`Stopped ${title} of an earlier start (process ${pid})`);
    }
    await requireFreePorts(wantedPorts(settings));
    writePidFile(pidFile('launcher'), process.pid);
  }

  return {
    async start() {
      await clearTheWay();
      const secrets = await loadSecrets(dataDir);
      const ownerUrl = await database();
      const logins = databaseLogins(ownerUrl);
      const { address, uiUrl } = await temporal();
      // Drawn once, so that a simulator that is started again is found where it was.
      const simulatorPort = settings.SIMULATOR_PORT ?? (await freePort());
      const smtpPort = settings.SIMULATOR_SMTP_PORT ?? (await freePort());
      const apiUrl = `http://localhost:${settings.PORT}`;
      const env: NodeJS.ProcessEnv = {
        PUBLIC_URL: apiUrl,
        SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
        WEBHOOK_ALLOW_PRIVATE: '1',
        ...secrets,
        ...withoutEmpty(environment),
        PORT: String(settings.PORT),
        DATA_DIR: dataDir,
        DATABASE_URL: logins.tenantUrl,
        DATABASE_SYSTEM_URL: logins.systemUrl,
        DATABASE_OWNER_URL: undefined,
        TEMPORAL_ADDRESS: address,
        TEMPORAL_UI_URL: uiUrl,
        SIMULATOR_URL: `http://127.0.0.1:${simulatorPort}`,
        SIMULATOR_PORT: String(simulatorPort),
        SIMULATOR_SMTP_PORT: String(smtpPort),
      };
      // Only what ends before the product is used knows the owner.
      const ownerEnv = { ...env, DATABASE_OWNER_URL: ownerUrl };
      const service = (part: Part, entry: string): Promise<void> =>
        run(part, (onSpawn) => startNode(entry, env, logFile(part), onSpawn));
      await step('Database schema', () => runNode('db/migrate.ts', ownerEnv));
      await service('simulator', 'simulator/server.ts');
      await service('api', 'api/server.ts');
      await service('worker', 'workers/worker.ts');
      await step('Demo data', () => runNode('standalone/demo-data.ts', ownerEnv));
      return { apiUrl, temporalUiUrl: uiUrl };
    },
    async stop() {
      stopping = true;
      for (const service of services.toReversed()) await service.stop();
    },
    kill() {
      stopping = true;
      for (const service of services) service.kill();
    },
  };
}
