import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { createTemporalClient } from '../../../providers/temporal.ts';
import { startSimulator } from '../../../simulator/server.ts';
import { startTracesReceiver } from '../../../test/support/traces-receiver.ts';
import { DEPLOYMENT } from '../../../providers/worker-deployment.ts';
import { startReceiver } from '../chaos/judge.ts';
import { until } from '../../bench/support/waiting.ts';
import { createCertificates } from './certificates.ts';
import { startCarriers } from './carriers.ts';
import { createPlace, type Kind, type Release } from './processes.ts';
import { findPrograms } from './programs.ts';
import { startPrometheus } from './prometheus.ts';
import { publicAddress } from './public-address.ts';
import { type DatabasePlace, startDatabase, startTemporalCluster } from './servers.ts';
import { startTlsFront } from './tls-front.ts';

type Started = Awaited<ReturnType<typeof startInstallation>>;
export interface Installation extends Omit<Started, 'current'> {
  /** What processes run that are started again. */
  current: Release;
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const APIS = 2;
const WORKERS = 3;
const DISK_MB = 16;

/**
 * Starts the shape of production: PostgreSQL, Temporal on it, two API and three worker processes, a load balancer,
 * carriers, a customer's server and Prometheus, with TLS between them.
 * @param folder of all data and logs.
 * @param programs the folder of programs that were built.
 * @param place of the product's PostgreSQL, if it may be lost: Temporal's is another one then.
 */
export async function startInstallation(folder: string, programs: string, place?: DatabasePlace) {
  const found = findPrograms(programs);
  const tls = createCertificates(join(folder, 'tls'), found.faketime);
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(tls.authority, 'utf8')]);
  const database = await startDatabase(folder, tls, place);
  const temporalFolder = join(folder, 'temporal');
  const temporalDatabase = place ? await startDatabase(temporalFolder, tls) : database;
  const temporal = await startTemporalCluster(temporalFolder, found, temporalDatabase, tls);
  const places = await Promise.all([
    ...Array.from({ length: APIS }, (_, index) => createPlace(`api-${index + 1}`, 'api', folder)),
    ...Array.from({ length: WORKERS }, (_, index) => createPlace(`worker-${index + 1}`, 'worker', folder)),
  ]);
  const of = (kind: Kind) => places.filter((place) => place.kind === kind);
  const balancer = await startTlsFront(
    tls,
    of('api').map(({ port }) => port),
  );
  const publicUrl = `https://localhost:${balancer.port}`;
  const secret = randomBytes(16).toString('hex');
  const simulator = await startSimulator({
    port: 0,
    smtpPort: 0,
    dataDir: null,
    callbackBaseUrl: publicUrl,
    secret,
  });
  const providers = await startTlsFront(tls, [Number(new URL(simulator.url).port)]);
  const carriers = await startCarriers(tls);
  const receiver = await startReceiver();
  const receiverFront = await startTlsFront(tls, [receiver.port]);
  const traces = await startTracesReceiver();
  const disk = mountDisk(join(folder, 'files'));
  const key = (): string => `1:${randomBytes(32).toString('base64')}`;
  const shared = {
    NODE_ENV: 'production',
    NODE_EXTRA_CA_CERTS: tls.authority,
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    DATABASE_URL: database.tenantUrl,
    DATABASE_SYSTEM_URL: database.systemUrl,
    TEMPORAL_ADDRESS: temporal.options.address,
    TEMPORAL_NAMESPACE: temporal.options.namespace,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: tls.authority,
    TEMPORAL_TLS_CLIENT_CERT_PATH: tls.client,
    TEMPORAL_TLS_CLIENT_KEY_PATH: tls.clientKey,
    TEMPORAL_CODEC_KEYS: key(),
    PUBLIC_URL: publicUrl,
    TRUSTED_PROXIES: '1',
    ENCRYPTION_KEYS: key(),
    SIGNING_KEYS: key(),
    DATA_DIR: disk.folder,
    TWILIO_API_URL: carriers.twilioUrl,
    LLM_BASE_URL: `https://localhost:${providers.port}/model/v1`,
    LLM_API_KEY: secret,
    LLM_MODEL: 'simulated',
    SMTP_URL: simulator.smtpUrl,
    MAIL_FROM: 'Linepace <no-reply@linepace.example>',
    OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
    OTEL_TRACES_SAMPLER_ARG: '0.1',
  };
  /** A build of the product. @param root the folder of its files. */
  const release = (buildId: string, root = ROOT): Release => ({
    root,
    env: { ...shared, WORKER_BUILD_ID: buildId },
  });
  const client = createTemporalClient({ ...temporal.options, codecKeys: shared.TEMPORAL_CODEC_KEYS });

  execFileSync(process.execPath, ['db/migrate.ts'], {
    cwd: ROOT,
    env: { ...shared, DATABASE_OWNER_URL: database.ownerUrl },
    stdio: 'pipe',
  });
  const first = release('one');
  await Promise.all(places.map((place) => place.start(first)));
  const prometheus = await startPrometheus(join(folder, 'prometheus'), found, {
    'linepace-api': of('api').map(({ metricsPort }) => `127.0.0.1:${metricsPort}`),
    'linepace-worker': of('worker').map(({ metricsPort }) => `127.0.0.1:${metricsPort}`),
    temporal: [temporal.metrics],
  });

  /** Like `temporal worker deployment set-current-version`, once the server knows the workers of a build. */
  async function makeCurrent(buildId: string): Promise<void> {
    const { namespace } = temporal.options;
    await until(async () => {
      await client.workflowService.setWorkerDeploymentCurrentVersion({
        namespace,
        deploymentName: DEPLOYMENT,
        buildId,
        version: `${DEPLOYMENT}.${buildId}`,
        identity: 'rehearsal',
      });
      return true;
    });
  }

  let stopping: Promise<void> | undefined;
  async function stop(): Promise<void> {
    await Promise.all(places.map((place) => place.stop()));
    await client.connection.close();
    await prometheus.stop();
    await Promise.all([carriers.stop(), simulator.stop(), balancer.close(), providers.close()]);
    await receiverFront.close();
    receiver.close();
    await traces.close();
    await temporal.stop();
    for (const server of new Set([temporalDatabase, database])) await server.stop();
    disk.unmount();
  }

  return {
    folder,
    faketime: found.faketime,
    database,
    temporal,
    /** Temporal's client, which decodes payloads. */
    client,
    places,
    of,
    release,
    current: first,
    makeCurrent,
    publicUrl,
    carriers,
    receiver,
    /** The URL of the customer's server. */
    webhookUrl: `https://[${publicAddress(1)}]:${receiverFront.port}/`,
    disk,
    prometheus,
    traces,
    /** May be called again, as by a signal. */
    stop: () => (stopping ??= stop()),
  };
}

/** A small file system of its own for attachments, which can be filled. Requires the right to mount one. */
function mountDisk(folder: string) {
  mkdirSync(folder, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', folder]);
  return { folder, unmount: () => void execFileSync('umount', ['--lazy', folder]) };
}
