import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import type { Config } from '#domain/base/config.ts';
import { MEMORY_VARIABLES, WORKER_FLAGS } from '#workers/node-flags.ts';

export interface AppProcess {
  pid: number;
  /** Kills the process to simulate a crash. */
  kill(): Promise<void>;
}

/**
 * Starts a separate process of the product on the same database and Temporal namespace, for tests of crashes.
 * @param log the file descriptor of its log.
 * @param variables of its environment, besides those that configure it like the app.
 */
export async function startProcess(
  entry: 'workers/worker.ts' | 'api/server.ts' | 'api/dist/server.js',
  config: Config,
  port = 0,
  log: number | 'ignore' = 'ignore',
  variables: Record<string, string> = {},
): Promise<AppProcess> {
  const child = fork(new URL(`../../${entry}`, import.meta.url), {
    env: {
      ...process.env,
      ...MEMORY_VARIABLES,
      ...environment(config),
      PORT: String(port),
      ...variables,
    },
    execArgv: entry === 'workers/worker.ts' ? [...WORKER_FLAGS] : [],
    stdio: ['ignore', log, 'inherit', 'ipc'],
  });
  await ready(child);
  return {
    pid: child.pid ?? 0,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function ready(child: ChildProcess): Promise<void> {
  const message = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the process ended with ${String(code)} before it was ready`);
    }),
  ]);
  if (JSON.stringify(message[0]) !== '{"type":"ready"}')
    throw new Error(`unexpected ${JSON.stringify(message)}`);
}

/** The environment variables that configure another process like this app. */
export const environment = (config: Config): Record<string, string> => ({
  DATABASE_URL: config.database.tenantUrl,
  DATABASE_SYSTEM_URL: config.database.systemUrl,
  DATABASE_DIRECT_URL: config.database.listenUrl,
  TEMPORAL_ADDRESS: config.temporal.address,
  TEMPORAL_NAMESPACE: config.temporal.namespace,
  PUBLIC_URL: config.publicUrl,
  LOG_LEVEL: config.logLevel,
  FAILED_ATTEMPTS_PER_MINUTE: String(config.failedAttemptsPerMinute),
  ENCRYPTION_KEYS: config.encryptionKeys,
  SIGNING_KEYS: config.signingKeys,
  AUTH_LOCAL_JWK: config.auth.localJwk ?? '',
  SIMULATOR_URL: config.simulator?.url ?? '',
  SIMULATOR_SECRET: config.simulator?.secret ?? '',
  DATA_DIR: dirname(config.storage.folder),
  STORAGE_QUOTA_GB: String(config.storageQuota.total / 1024 ** 3),
  WEBHOOK_ALLOW_PRIVATE: config.webhooks.allowPrivate ? '1' : '0',
  ...(config.crms.hubspot.apiUrl && { HUBSPOT_API_URL: config.crms.hubspot.apiUrl }),
  ...(config.mail.smtpUrl !== null && { SMTP_URL: config.mail.smtpUrl }),
  ...(config.metricsPort !== null && { METRICS_PORT: String(config.metricsPort) }),
});
