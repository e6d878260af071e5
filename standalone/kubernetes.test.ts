import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { routes } from '#api/routes.ts';
import { readConfig } from '#domain/base/config.ts';
import { SUBJECTS } from '#domain/base/environment.ts';
import { MEGABYTES, PROCESSES } from '#providers/untrusted/processes.ts';

/** deploy/kubernetes, which `deploy/helm/check` renders from the chart and validates, agrees with the code. */
const ROOT = new URL('../', import.meta.url);
const FOLDER = new URL('deploy/kubernetes/', ROOT);
const read = (name: string): string => readFileSync(new URL(name, ROOT), 'utf8');

interface Probe {
  httpGet: { path: string; port: string };
}
interface Container {
  name: string;
  image: string;
  command: string[];
  ports?: { name: string; containerPort: number }[];
  env?: { name: string; value?: string }[];
  envFrom?: unknown[];
  startupProbe?: Probe;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
  lifecycle?: { preStop: { sleep: { seconds: number } } };
  securityContext: object;
  resources?: { limits: { memory: string } };
}
interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: { app?: string } };
  data?: Record<string, string>;
  spec: {
    podSelector?: { matchLabels?: { app?: string } };
    ingress?: { from?: unknown[]; ports: { port: string }[] }[];
    selector?: { app?: string; matchLabels?: { app: string; build?: string } };
    ports?: { name: string; targetPort: string }[];
    endpoints?: { port: string; path: string }[];
    template?: {
      metadata?: { labels: { app: string; build?: string } };
      spec: {
        containers: Container[];
        terminationGracePeriodSeconds?: number;
        automountServiceAccountToken?: boolean;
        securityContext?: object;
      };
    };
  };
}

/** The memory of an API process under load (`npm run bench -- start`). */
const BASE_MEGABYTES = 400;

const manifests = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((name) =>
    parseAllDocuments(readFileSync(new URL(name, FOLDER), 'utf8')).map((document) => {
      if (document.errors[0]) throw document.errors[0];
      return document.toJS() as Manifest;
    }),
  );
const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
/** The workers of each build have a Deployment of their own. */
const named = (kind: string, name: string): Manifest => {
  const found = ofKind(kind).find((manifest) => nameOf(manifest) === name);
  if (!found) throw new Error(`there is no ${kind} ${name}`);
  return found;
};
const nameOf = ({ metadata }: Manifest): string => metadata.name.replace(/-\d+\.\d+\.\d+$/, '');
const containerOf = ({ spec }: Manifest): Container => {
  const [container] = spec.template?.spec.containers ?? [];
  if (!container) throw new Error('there is no container');
  return container;
};
const workloads = [...ofKind('Deployment'), ...ofKind('Job')];
const config = named('ConfigMap', 'linepace').data ?? {};
const KEYS = `1:${Buffer.alloc(32, 7).toString('base64')}`;
const SECRETS = {
  DATABASE_URL: 'postgres://linepace_tenant@db/linepace',
  DATABASE_SYSTEM_URL: 'postgres://linepace_system@db/linepace',
  ENCRYPTION_KEYS: KEYS,
  SIGNING_KEYS: KEYS,
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
};

describe('deploy/kubernetes', () => {
  it('has a valid production configuration, of variables that the processes read', () => {
    const { production, port, metricsPort } = readConfig({ NODE_ENV: 'production', ...SECRETS, ...config });
    expect(production).toBe(true);
    const ports = containerOf(named('Deployment', 'linepace-api')).ports;
    expect(ports?.map(({ containerPort }) => containerPort)).toEqual([port, metricsPort]);
    const variables = [
      ...Object.keys(config),
      ...workloads.flatMap((workload) => containerOf(workload).env?.map(({ name }) => name) ?? []),
    ];
    const listed = new Set(SUBJECTS.flatMap((subject) => Object.keys(subject.variables)));
    expect(variables.filter((name) => !listed.has(name))).toEqual([]);
  });

  it('runs the same image with entry points that exist, as a user without privileges', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    const containers = workloads.map(containerOf);
    expect(containers.map(({ name }) => name).toSorted()).toEqual(['api', 'migrate', 'worker']);
    for (const { image, command, securityContext } of containers) {
      expect(image).toBe(`linepace:${version}`);
      // The image bundles what is started from `api/dist` (`api/bundle.ts`).
      const source = (command.at(-1) ?? '').replace(/^(\w+)\/dist\/(.+)\.js$/, '$1/$2.ts');
      expect(existsSync(new URL(source, ROOT)), source).toBe(true);
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
    expect(read('Dockerfile')).toContain('USER node');
  });

  it('satisfies the Pod Security Standard that its namespace enforces', () => {
    for (const { spec } of workloads)
      expect(spec.template?.spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
  });

  it('allows connections to a pod only from those that need them', () => {
    const policies = ofKind('NetworkPolicy').map(({ metadata }) => metadata.name);
    expect(policies).toEqual(expect.arrayContaining(workloads.map(nameOf)));
    const selected = ofKind('NetworkPolicy').flatMap(({ spec }) => spec.podSelector?.matchLabels?.app ?? []);
    expect(selected.toSorted()).toEqual(
      workloads.map(({ spec }) => spec.template?.metadata?.labels.app).toSorted(),
    );
  });

  it('lets only the ingress controller connect to the API, which believes what it says of a client', () => {
    const { ingress = [] } = named('NetworkPolicy', 'linepace-api').spec;
    expect(ingress).toEqual([
      {
        from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } }],
        ports: [{ port: 'http' }],
      },
      {
        from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
        ports: [{ port: 'metrics' }],
      },
    ]);
  });

  it('has room for the processes that read untrusted content', () => {
    const megabytes = (memory = ''): number => Number.parseInt(memory) * (memory.endsWith('Gi') ? 1024 : 1);
    for (const deployment of ofKind('Deployment')) {
      const { limits } = containerOf(deployment).resources ?? {};
      // Each has half as much again outside of V8's heap.
      expect(megabytes(limits?.memory)).toBeGreaterThan(BASE_MEGABYTES + PROCESSES * MEGABYTES * 1.5);
    }
  });

  it('probes paths that the processes serve, at ports that they open', () => {
    const served = {
      'linepace-api': routes.map(({ path }) => path),
      'linepace-worker': [...read('workers/status-server.ts').matchAll(/'(\/\w+)': /g)].map(
        ([, path = '']) => path,
      ),
    };
    for (const [name, paths] of Object.entries(served)) {
      const { ports = [], ...probes } = containerOf(named('Deployment', name));
      const { startupProbe, readinessProbe, livenessProbe } = probes;
      // All API processes would be taken out at once while Temporal is away, without which they accept messages.
      const [started, ready] =
        name === 'linepace-api' ? [startupProbe, '/healthz'] : [readinessProbe, '/readyz'];
      expect(started?.httpGet.path).toBe('/readyz');
      expect([readinessProbe?.httpGet.path, livenessProbe?.httpGet.path]).toEqual([ready, '/healthz']);
      for (const probe of [started, readinessProbe, livenessProbe]) {
        expect(paths).toContain(probe?.httpGet.path);
        expect(ports.map((port) => port.name)).toContain(probe?.httpGet.port);
      }
      for (const { port, path } of named('ServiceMonitor', name).spec.endpoints ?? []) {
        expect(paths).toContain(path);
        expect(named('Service', name).spec.ports?.map((open) => open.name)).toContain(port);
      }
      for (const { targetPort } of named('Service', name).spec.ports ?? [])
        expect(ports.map((port) => port.name)).toContain(targetPort);
    }
  });

  it('selects the pods that it creates', () => {
    for (const deployment of ofKind('Deployment')) {
      const { spec } = deployment;
      const name = nameOf(deployment);
      expect(spec.template?.metadata?.labels.app).toBe(name);
      expect(spec.selector?.matchLabels).toEqual(spec.template?.metadata?.labels);
      expect(named('PodDisruptionBudget', name).spec.selector?.matchLabels?.app).toBe(name);
      expect(named('Service', name).spec.selector?.app).toBe(name);
      expect(named('ServiceMonitor', name).spec.selector?.matchLabels?.app).toBe(
        named('Service', name).metadata.labels?.app,
      );
    }
  });

  it('has the version of the chart', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(parse(read('deploy/helm/linepace/Chart.yaml'))).toMatchObject({ version, appVersion: version });
  });

  it('runs the workers of each build in a Deployment of its own', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    const worker = named('Deployment', 'linepace-worker');
    expect(worker.metadata.name).toBe(`linepace-worker-${version}`);
    expect(worker.spec.template?.metadata?.labels.build).toBe(version);
    expect(containerOf(worker).env).toEqual([{ name: 'WORKER_BUILD_ID', value: version }]);
  });

  it('gives processes the time to stop that providers/lifecycle.ts allows', () => {
    const [, bound = ''] = /STOP_TIMEOUT_MS = ([\d_]+)/.exec(read('providers/lifecycle.ts')) ?? [];
    for (const deployment of ofKind('Deployment')) {
      const before = containerOf(deployment).lifecycle?.preStop.sleep.seconds ?? 0;
      const needed = before + Number(bound.replaceAll('_', '')) / 1000;
      expect(deployment.spec.template?.spec.terminationGracePeriodSeconds).toBeGreaterThan(needed);
    }
  });

  it("gives the owner's login to the migration alone", () => {
    const texts = ['api', 'worker', 'config'].map((name) => read(`deploy/kubernetes/${name}.yaml`));
    expect(texts.join('')).not.toContain('DATABASE_OWNER_URL');
    expect(containerOf(named('Job', 'linepace-migrate')).env?.map(({ name }) => name)).toContain(
      'DATABASE_OWNER_URL',
    );
  });
});
