import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { documentationOf, type Reader, SUBJECTS } from '#domain/base/environment.ts';
import { MEMORY_VARIABLES, WORKER_FLAGS } from '#workers/node-flags.ts';

const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

interface Service {
  networks: string[];
  read_only?: boolean;
  image?: string;
  user?: string;
  volumes?: string[];
  environment?: Record<string, string | null>;
  command?: string[];
}

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
  const [, image = ''] = read('Dockerfile').split(/^FROM node:24-slim(?:@\S+)?$/m);
  const steps = image.match(/^(?:USER|RUN node) .*/gm) ?? [];
  expect(steps).toEqual(['USER node', expect.stringMatching(/^RUN node/)]);
});

test('the image builds the console with what its settings extend', () => {
  const { extends: base } = JSON.parse(read('console/tsconfig.json')) as { extends: string };
  const [, stage = ''] = read('Dockerfile').split(/^FROM node:24-slim(?:@\S+)? AS build$/m);
  const copied = /^COPY (.*) \.\/$/m.exec(stage)?.[1]?.split(' ');
  expect(copied).toContain(base.replace('../', ''));
});

test('workers have the same flags however they are started', () => {
  const command = ['node', ...WORKER_FLAGS, 'workers/worker.ts'];
  expect(service('worker')).toContain(`command: [${command.map((part) => `'${part}'`).join(', ')}]`);
  expect(read('deploy/kubernetes/worker.yaml')).toContain(`command: [${command.join(', ')}]`);
  expect(JSON.parse(read('package.json'))).toMatchObject({ scripts: { worker: command.join(' ') } });
  // Code that Node compiled with other flags is of no use to them.
  expect(read('Dockerfile')).toContain(`node ${WORKER_FLAGS.join(' ')} --input-type=module`);
  for (const [name, value] of Object.entries(MEMORY_VARIABLES)) {
    expect(read('Dockerfile')).toContain(`ENV ${name}=${value}`);
    expect(read('deploy/systemd/linepace-worker.service')).toContain(`${name}=${value}`);
  }
});

test('docker-compose.yml drops privileges, and only services that need Temporal and PostgreSQL can reach them', () => {
  const { services, networks } = parse(compose, { merge: true }) as {
    services: Record<string, Service>;
    networks: Record<string, { internal?: boolean } | null>;
  };
  for (const [name, service] of Object.entries(services)) {
    expect(service, name).toMatchObject({
      security_opt: ['no-new-privileges:true'],
      cap_drop: ['ALL'],
      pids_limit: expect.any(Number),
      mem_limit: expect.any(String),
      logging: { options: { 'max-size': expect.any(String), 'max-file': expect.any(String) } },
    });
  }
  const writable = Object.keys(services).filter((name) => services[name]?.read_only !== true);
  // These images write their configuration into their own file system.
  expect(writable).toEqual(['temporal-schema', 'temporal', 'temporal-namespace', 'temporal-ui']);
  const on = (network: string): string[] =>
    Object.keys(services)
      .filter((name) => services[name]?.networks.includes(network))
      .toSorted();
  expect(on('temporal')).toEqual(['api', 'temporal', 'temporal-namespace', 'worker']);
  expect(on('temporal-ui')).toEqual(['temporal', 'temporal-ui']);
  expect(on('database')).toEqual([
    'api',
    'backup',
    'exporter-login',
    'migrate',
    'postgres',
    'temporal',
    'temporal-schema',
    'worker',
  ]);
  expect(on('statistics')).toEqual(['postgres', 'postgres-exporter']);
  expect(on('metrics')).toEqual(['api', 'prometheus', 'temporal', 'worker']);
  expect(on('monitoring')).toEqual(['alertmanager', 'node-exporter', 'postgres-exporter', 'prometheus']);
  // What its proxy says of a client's address counts, so the API is alone where its port is published.
  expect(on('edge')).toEqual(['api']);
  expect(on('outside')).toEqual(['alertmanager', 'prometheus', 'temporal-ui', 'worker']);
  const open = Object.keys(networks).filter((name) => networks[name]?.internal !== true);
  expect(open).toEqual(['edge', 'outside']);
});

test('only the processes that need it have the password of a login', () => {
  const { services } = parse(compose, { merge: true }) as { services: Record<string, Service> };
  const holders = (variable: string): string[] =>
    Object.entries(services).flatMap(([name, { environment }]) =>
      Object.values(environment ?? {}).some((value) => value?.includes(variable)) ? [name] : [],
    );
  expect(holders('POSTGRES_PASSWORD')).toEqual(['postgres', 'migrate']);
  expect(holders('EXPORTER_DB_PASSWORD')).toEqual(['exporter-login', 'postgres-exporter']);
  expect(services['postgres-exporter']?.environment).toMatchObject({ DATA_SOURCE_USER: 'linepace_exporter' });
});

test('a release requires images by digest, and `deploy/images --write` adds them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'linepace-images-'));
  try {
    for (const file of ['Dockerfile', 'deploy/postgres/Dockerfile', 'docker-compose.yml', 'deploy/images']) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await cp(fileURLToPath(new URL(`../${file}`, import.meta.url)), join(folder, file));
    }
    const digest = `sha256:${'0'.repeat(64)}`;
    await writeFile(join(folder, 'docker'), `#!/bin/sh\necho ${digest}\n`, { mode: 0o755 });
    const run = (...args: string[]) =>
      spawnSync(join(folder, 'deploy/images'), args, {
        encoding: 'utf8',
        env: { PATH: `${folder}:${process.env['PATH']}` },
      });
    // A digest that somebody has taken out is found.
    const file = join(folder, 'deploy/postgres/Dockerfile');
    await writeFile(file, (await readFile(file, 'utf8')).replace(/@sha256:\w+/, ''));
    expect(run()).toMatchObject({ status: 1, stderr: expect.stringContaining('postgres:18') });
    expect(run('--write').status).toBe(0);
    expect(await readFile(file, 'utf8')).toContain(`FROM postgres:18@${digest}\n`);
    expect(run()).toMatchObject({ status: 0, stderr: '' });
    const images = (await readFile(join(folder, 'docker-compose.yml'), 'utf8')).match(/^ +image: .*/gm) ?? [];
    expect(images.filter((image) => !image.includes('@sha256:')).map((image) => image.trim())).toEqual([
      'image: linepace-postgres',
      'image: linepace',
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('PostgreSQL archives its log to where its backups are made, as the backup drill does', () => {
  const { services } = parse(compose, { merge: true }) as { services: Record<string, Service> };
  const { postgres, backup } = services;
  expect(backup).toMatchObject({ image: postgres?.image, user: 'postgres', volumes: postgres?.volumes });
  expect(postgres?.environment).toMatchObject(backup?.environment ?? {});
  const [, seconds] =
    /ARCHIVE_TIMEOUT_SECONDS = (\d+)/.exec(read('lab/proof/rehearse/restore/backups.ts')) ?? [];
  expect(postgres?.command).toEqual(
    expect.arrayContaining([
      '--archive_mode=on',
      '--archive_command=pgbackrest archive-push %p',
      `--archive_timeout=${seconds}s`,
    ]),
  );
  const [, major] = /^FROM postgres:(\d+)(?:@\S+)?$/m.exec(read('deploy/postgres/Dockerfile')) ?? [];
  expect(backup?.environment?.['PGBACKREST_PG1_PATH']).toBe(`/var/lib/postgresql/${major}/docker`);
  // What records a backup is the statement of docs/backup.md.
  const [recorded = ''] = /insert into recorded_runs [^"]+/.exec(read('deploy/postgres/backup')) ?? [];
  expect(read('docs/backup.md')).toContain(recorded);
});
