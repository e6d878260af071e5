import { resolve } from 'node:path';
import { z } from 'zod';
import { forStart } from '#domain/base/environment.ts';
import type { WantedPort } from './ports.ts';

const Port = z.coerce.number().int().min(1).max(65_535);

/** Variables that no other process reads. */
export const LAUNCHER_VARIABLES = {
  POSTGRES_PORT: forStart(Port.default(5433), 'port of the embedded PostgreSQL'),
  TEMPORAL_PORT: forStart(Port.default(7233), 'port of the local Temporal server'),
  TEMPORAL_UI_PORT: forStart(Port.default(8233), 'port of the Temporal Web UI'),
  SIMULATOR_PORT: forStart(Port.optional(), 'port of the simulated providers', 'a free one'),
  SIMULATOR_SMTP_PORT: forStart(Port.optional(), 'port of the simulated mail server', 'a free one'),
  DEMO: forStart(
    z.enum(['lively', 'empty']).default('lively'),
    'what the console opens on: `lively`, a workspace in test mode with a month of life, or `empty`, the bare demo workspace',
  ),
};

const Environment = z.object({
  NODE_ENV: z
    .enum(['development', 'test'], {
      error: ({ input }) =>
        input === 'production'
          ? '`npm start` uses simulated carriers and payments; in production run `npm run api` and `npm run worker`'
          : 'must be development',
    })
    .optional(),
  PORT: Port.default(3000),
  METRICS_PORT: Port.max(65_534).optional(),
  ...LAUNCHER_VARIABLES,
  DATA_DIR: z.string().default('.data'),
  DATABASE_URL: z.string().optional(),
  TEMPORAL_ADDRESS: z.string().optional(),
});

/** The settings of the launcher. Services read their own settings from the environment. */
export type Settings = Omit<z.output<typeof Environment>, 'NODE_ENV'>;

/**
 * Reads the environment. An empty variable counts as unset.
 * @returns settings with an absolute DATA_DIR.
 * @throws an error that lists every problem.
 */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const parsed = Environment.safeParse(withoutEmpty(environment));
  if (!parsed.success) {
    throw new Error(
      parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'),
    );
  }
  return { ...parsed.data, DATA_DIR: resolve(parsed.data.DATA_DIR) };
}

/** The environment without variables that are set to the empty string. */
export const withoutEmpty = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));

/** The ports that this start will listen on. */
export function wantedPorts(settings: Settings): WantedPort[] {
  const ports: [variable: keyof Settings, purpose: string, used: boolean][] = [
    ['PORT', 'API', true],
    ['POSTGRES_PORT', 'PostgreSQL', settings.DATABASE_URL === undefined],
    ['TEMPORAL_PORT', 'Temporal', settings.TEMPORAL_ADDRESS === undefined],
    ['TEMPORAL_UI_PORT', 'Temporal Web UI', settings.TEMPORAL_ADDRESS === undefined],
    ['SIMULATOR_PORT', 'simulated providers', true],
    ['SIMULATOR_SMTP_PORT', 'simulated mail server', true],
  ];
  const own = ports.flatMap(([variable, purpose, used]) => {
    const port = settings[variable];
    return used && typeof port === 'number' ? [{ port, variable, purpose }] : [];
  });
  const { METRICS_PORT: port } = settings;
  if (port === undefined) return own;
  const ofWorker = {
    port: workerMetricsPort(port),
    variable: 'METRICS_PORT',
    purpose: "the worker's metrics",
  };
  return [...own, { port, variable: 'METRICS_PORT', purpose: "the API's metrics" }, ofWorker];
}

/** API and worker share a machine here, so the worker has the next port. */
export const workerMetricsPort = (port: number): number => port + 1;
