import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { documentationOf, type Reader, SUBJECTS } from '#domain/environment.ts';
import { MEMORY_VARIABLES, WORKER_FLAGS } from '#workers/node-flags.ts';

const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

const compose = read('docker-compose.yml');
const service = (name: string): string =>
  new RegExp(`^  ${name}:\n(?:(?:    .*)?\n)+`, 'm').exec(compose)?.[0] ?? '';

test('docker-compose.yml passes each process the variables that it reads', () => {
  const { services } = parse(compose, { merge: true }) as {
    services: Record<string, { environment: Record<string, unknown> }>;
  };
  const variables = SUBJECTS.filter(({ title }) => title !== 'Local installation').flatMap((subject) =>
    Object.entries(subject.variables),
  );
  const readBy = (reader: Reader): string[] =>
    variables.flatMap(([name, variable]) =>
      documentationOf(variable).readBy.includes(reader) ? [name] : [],
    );
  const passed = (name: string): string[] => Object.keys(services[name]?.environment ?? {}).toSorted();
  expect(passed('api')).toEqual(readBy('API').toSorted());
  expect(passed('worker')).toEqual(readBy('workers').toSorted());
  expect(passed('migrate')).toEqual([...readBy('`migrate`'), 'NODE_ENV'].toSorted());
});

test("docker-compose.yml gives the owner's login to `migrate` alone and publishes ports on loopback only", () => {
  expect(compose.match(/DATABASE_OWNER_URL:/g)).toHaveLength(1);
  expect(service('migrate')).toContain('DATABASE_OWNER_URL:');
  expect(compose).not.toContain('env_file');
  const published = [...compose.matchAll(/^ +- '([^']*:\d+)'$/gm)].map(([, port]) => port);
  expect(published).toEqual([
    '127.0.0.1:8233:8080',
    '${API_BIND:-127.0.0.1}:${API_PORT:-3000}:3000',
    '127.0.0.1:9090:9090',
    '127.0.0.1:9093:9093',
  ]);
});

test('the image compiles its code as the user that runs it', () => {
  const [, image = ''] = read('Dockerfile').split(/^FROM node:24-slim$/m);
  const steps = image.match(/^(?:USER|RUN node) .*/gm) ?? [];
  expect(steps).toEqual(['USER node', expect.stringMatching(/^RUN node/)]);
});

test('workers have the same flags however they are started', () => {
  const command = ['node', ...WORKER_FLAGS, 'workers/worker.ts'];
  expect(service('worker')).toContain(`command: [${command.map((part) => `'${part}'`).join(', ')}]`);
  expect(read('deploy/kubernetes/worker.yaml')).toContain(`command: [${command.join(', ')}]`);
  expect(JSON.parse(read('package.json'))).toMatchObject({ scripts: { worker: command.join(' ') } });
  for (const [name, value] of Object.entries(MEMORY_VARIABLES)) {
    expect(read('Dockerfile')).toContain(`ENV ${name}=${value}`);
    expect(read('deploy/systemd/linepace-worker.service')).toContain(`${name}=${value}`);
  }
});

test('docker-compose.yml takes privileges away, and lets only those that need Temporal and PostgreSQL reach them', () => {
  const { services, networks } = parse(compose, { merge: true }) as {
    services: Record<
      string,
      { networks: string[]; security_opt: string[]; cap_drop?: string[]; read_only?: boolean }
    >;
    networks: Record<string, { internal?: boolean } | null>;
  };
  for (const [name, { security_opt, cap_drop }] of Object.entries(services)) {
    expect(security_opt, name).toEqual(['no-new-privileges:true']);
    // It starts as root, to take over its folder.
    if (name !== 'postgres') expect(cap_drop, name).toEqual(['ALL']);
  }
  for (const name of ['api', 'worker', 'migrate']) expect(services[name]?.read_only, name).toBe(true);
  const on = (network: string): string[] =>
    Object.keys(services)
      .filter((name) => services[name]?.networks.includes(network))
      .toSorted();
  expect(on('temporal')).toEqual([
    'api',
    'prometheus',
    'temporal',
    'temporal-namespace',
    'temporal-ui',
    'worker',
  ]);
  expect(on('database')).toEqual([
    'api',
    'migrate',
    'postgres',
    'postgres-exporter',
    'temporal',
    'temporal-schema',
    'worker',
  ]);
  expect(on('monitoring')).toEqual(['alertmanager', 'node-exporter', 'postgres-exporter', 'prometheus']);
  expect(on('outside')).toEqual(['alertmanager', 'api', 'prometheus', 'temporal-ui', 'worker']);
  const internal = { internal: true };
  expect(networks).toEqual({ database: internal, temporal: internal, monitoring: internal, outside: null });
});
