import { execFile, fork, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it, test } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '#providers/free-port.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { type RunningPostgres, startPostgres } from '#standalone/postgres.ts';
import { eventually } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { startTlsProxy, type TlsProxy } from '#test/support/tls-proxy.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';
import { WORKER_FLAGS } from '#workers/node-flags.ts';

/** `docs/deploy.md` from an empty database and an empty folder to a message at the carrier, by its own commands. */

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TLS = fileURLToPath(new URL('../fixtures/tls/', import.meta.url));
const AUTHORITY = join(TLS, 'authority.pem');
const [FROM, TO] = ['+14155550100', '+14155550123'];

const HAS_TOOLS = ['promtool', 'amtool'].every((tool) => spawnSync(tool, ['--version']).status === 0);
/** As the test runs it: without a plugin of the person who runs the tests. */
const HAS_COMPOSE =
  spawnSync('docker', ['compose', 'version'], { env: { PATH: process.env['PATH'], HOME: '/nonexistent' } })
    .status === 0;

const page = readFileSync(join(ROOT, 'docs/deploy.md'), 'utf8');
/** The shell blocks of a section of the page. */
function blocksOf(section: string): string[] {
  const [, text = ''] = page.split(`\n## ${section}\n`);
  const [own = ''] = text.split('\n## ');
  return [...own.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
}

let folder: string;
let postgres: RunningPostgres;
let proxy: TlsProxy;
let twilio: TwilioStandIn;
let namespace: string;
const processes: ChildProcess[] = [];
const trusted = getCACertificates('default');

/** A command of the page, in the folder of the product. */
const command = (file: string, args: string[], env: Record<string, string> = {}) =>
  run(file, args, { cwd: ROOT, env: { PATH: process.env['PATH'], HOME: folder, ...env } });

/** The variables of a file that `deploy/settings.sh` has written. */
async function variablesOf(name: string): Promise<Record<string, string>> {
  const lines = (await readFile(join(folder, 'etc', name), 'utf8')).split('\n');
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, variable, value] = /^([A-Z_]+)=(.*)$/.exec(line) ?? [];
      return variable === undefined || value === undefined ? [] : [[variable, value]];
    }),
  );
}

/** What the units start, with the variables that they set. */
async function start(entry: string, flags: readonly string[], variables: Record<string, string>) {
  const child = fork(join(ROOT, entry), {
    env: { PATH: process.env['PATH'], ...variables },
    execArgv: [...flags],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  processes.push(child);
  let log = '';
  child.stdout?.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${entry} ended with ${String(code)}: ${log}`);
  });
  ended.catch(() => {});
  await Promise.race([once(child, 'message'), ended]);
  return { log: () => log };
}

const owners = () => new URL(postgres.url);
const SETTINGS = () => ({
  DATABASE_HOST: owners().host,
  TEMPORAL_ADDRESS: inject('temporalAddress'),
  DATABASE_NAME: 'first_run',
});

beforeAll(async () => {
  folder = await mkdtemp(join(inject('runFolder'), 'first-run-'));
  await mkdir(join(folder, 'etc'));
  const port = await freePort();
  postgres = await startPostgres({
    dataDir: join(folder, 'postgres'),
    port,
    logFile: join(folder, 'postgres.log'),
    durable: false,
  });
  twilio = await startTwilio(TWILIO_ACCOUNT);
  twilio.numbers.set(FROM, { smsUrl: '', sms: true });
  proxy = await startTlsProxy(TLS);
  setDefaultCACertificates([...trusted, await readFile(AUTHORITY, 'utf8')]);
  namespace = `first-run-${port}`;
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  await connection.close();
});
afterAll(async () => {
  for (const child of processes) {
    if (child.exitCode !== null) continue;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  setDefaultCACertificates(trusted);
  await Promise.all([proxy.close(), twilio.stop()]);
  await postgres.stop();
});

describe('one machine', () => {
  let variables: Record<string, string>;
  let apiLog: () => string;

  it('gets settings with new keys, which are written once and for their owner only', async () => {
    const write = () =>
      command(
        'deploy/settings.sh',
        ['machine', `https://localhost:${proxy.port}`, join(folder, 'etc')],
        SETTINGS(),
      );
    await write();
    const files = ['linepace.env', 'worker.env', 'owner.env'].map((name) => join(folder, 'etc', name));
    expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
    const before = await variablesOf('linepace.env');
    await expect(write()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('exists') });
    expect(await variablesOf('linepace.env')).toEqual(before);
    variables = {
      ...before,
      TEMPORAL_NAMESPACE: namespace,
      TWILIO_API_URL: twilio.url,
      NODE_EXTRA_CA_CERTS: AUTHORITY,
      DATA_DIR: join(folder, 'data'),
      HOST: '127.0.0.1',
    };
  });

  it('gets a database whose owner may create roles, however often that is repeated', async () => {
    const { hostname, port, username, password } = owners();
    const admin = { PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password };
    const create = () =>
      command('sh', ['-c', 'deploy/database.sh < "$0"', join(folder, 'etc/owner.env')], admin);
    await create();
    await create();
    const owner = await variablesOf('owner.env');
    await command(process.execPath, ['db/migrate.ts'], { ...variables, ...owner });
  });

  it('gives the exporter of PostgreSQL a login that reads statistics and nothing else', async () => {
    const { hostname, port, username, password } = owners();
    const admin = { PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password };
    const own = { ...admin, PGDATABASE: 'first_run', EXPORTER_DB_PASSWORD: 'of-the-exporter' };
    for (const _ of [1, 2]) await command('deploy/postgres/exporter-login', [], own);
    const asExporter = (query: string) =>
      command('psql', ['--no-psqlrc', '--tuples-only', '--no-align', '--command', query], {
        ...own,
        PGUSER: 'linepace_exporter',
        PGPASSWORD: 'of-the-exporter',
      });
    expect((await asExporter('select failed_count from pg_stat_archiver')).stdout).toBe('0\n');
    expect(
      (await asExporter('select count(*) > 0 from pg_stat_activity where query is not null')).stdout,
    ).toBe('t\n');
    for (const query of ['select from messages', 'select from users', 'create table taken ()'])
      await expect(asExporter(query)).rejects.toMatchObject({
        stderr: expect.stringContaining('permission denied'),
      });
    await expect(command('deploy/postgres/exporter-login', [], admin)).rejects.toMatchObject({
      stderr: expect.stringContaining('EXPORTER_DB_PASSWORD'),
    });
  });

  it('runs API and workers, which wait to be set up and say so with a code in the log', async () => {
    const port = await freePort();
    ({ log: apiLog } = await start('api/server.ts', [], { ...variables, PORT: String(port) }));
    await start('workers/worker.ts', WORKER_FLAGS, variables);
    proxy.to(port);
    const anybody = apiClient(`https://localhost:${proxy.port}`, '');
    await eventually(async () => (await anybody('GET', '/readyz')).body.setup === 'needed');
    const code = await eventually(async () => /"setupCode":"([\w-]{43})"/.exec(apiLog())?.[1]);
    expect(code).toBeDefined();
  });

  it('sends its first message by the commands of the page', async () => {
    const [, shell = ''] = blocksOf('One machine');
    const [setupCode = '', byHttp = ''] = blocksOf('The first message');
    const script = [shell, setupCode, byHttp]
      .join('\n')
      .replaceAll('/etc/linepace', join(folder, 'etc'))
      .replaceAll('/opt/linepace', ROOT)
      .replaceAll('https://messaging.example.com', `https://localhost:${proxy.port}`);
    const { stdout } = await command('bash', ['-eo', 'pipefail', '-c', script], {
      TEMPORAL_NAMESPACE: namespace,
      CURL_CA_BUNDLE: AUTHORITY,
      TWILIO_ACCOUNT_SID: TWILIO_ACCOUNT.sid,
      TWILIO_AUTH_TOKEN: TWILIO_ACCOUNT.authToken,
      FROM,
      TO,
    }).catch(({ stdout: printed, stderr }: { stdout: string; stderr: string }) => {
      throw new Error(`${stderr}\n${printed}`);
    });
    expect(stdout).toMatch(/"_id":"[0-9a-f]{24}"[^\n]*$/);
    const [message] = await eventually(async () => twilio.sent.length > 0 && twilio.sent);
    expect(message).toMatchObject({ from: FROM, to: TO, body: 'Hello from Linepace' });
    // The receipt has come through TLS and the proxy.
    expect(message?.statusCallback).toContain(`https://localhost:${proxy.port}/callbacks/carriers/twilio/`);
    const anybody = apiClient(`https://localhost:${proxy.port}`, '');
    expect((await anybody('GET', '/readyz')).body.setup).toBeUndefined();
  });
});

describe('an alert that reaches a person', () => {
  const [machine = ''] = blocksOf('An alert that reaches a person');
  const SECRET = "it's: #secret";
  /** The commands of the page that write files. */
  const written = async () => {
    const target = await mkdtemp(join(folder, 'alerts-'));
    const commands = machine
      .split('\n')
      .filter((line) => /^(cp|SMTP_PASSWORD=)/.test(line))
      .join('\n')
      .replaceAll(/\/etc\/(?:prometheus|default)/g, target)
      .replaceAll('SMTP_PASSWORD=… ', '');
    await command('sh', ['-euc', commands], { SMTP_PASSWORD: SECRET });
    return target;
  };
  const yaml = async (target: string, name: string): Promise<unknown> =>
    parse(await readFile(join(target, name), 'utf8'));

  it('is configured by the commands of the page', async () => {
    const target = await written();
    expect(await yaml(target, 'alertmanager.yml')).toMatchObject({
      global: {
        smtp_from: 'linepace@example.com',
        smtp_smarthost: 'smtp.example.com:587',
        smtp_auth_username: 'USER',
        smtp_auth_password: SECRET,
      },
      receivers: [
        { name: 'page', email_configs: [{ to: 'ana@example.com', send_resolved: true }] },
        { name: 'ticket', email_configs: [{ to: 'ana@example.com' }] },
      ],
    });
    const { scrape_configs: jobs, rule_files: rules } = (await yaml(target, 'prometheus.yml')) as {
      scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
      rule_files: string[];
    };
    expect(rules.map((name) => existsSync(join(target, name)))).toEqual([true]);
    // The ports of the units.
    for (const unit of ['api', 'worker']) {
      const text = readFileSync(join(ROOT, `deploy/systemd/linepace-${unit}.service`), 'utf8');
      const [, port] = /METRICS_PORT=(\d+)/.exec(text) ?? [];
      expect(jobs.find(({ job_name: name }) => name === `linepace-${unit}`)?.static_configs).toEqual([
        { targets: [`localhost:${port}`] },
      ]);
    }
    await expect(command('deploy/alert-emails.sh', ['ana@example.com'])).rejects.toMatchObject({ code: 2 });
  });

  it.skipIf(!HAS_TOOLS)(
    'is valid, by promtool and amtool (skipped without them; Debian has them in prometheus and prometheus-alertmanager)',
    async () => {
      const target = await written();
      const checks = machine
        .split('\n')
        .filter((line) => /^(promtool|amtool)/.test(line))
        .join('\n')
        .replaceAll('/etc/prometheus', target);
      const { stdout } = await command('sh', ['-euc', checks]);
      expect(stdout).toContain('2 receivers');
    },
  );
});

test('docker compose gets an .env with everything that it requires', async () => {
  const target = await mkdtemp(join(folder, 'compose-'));
  const write = () => command('deploy/settings.sh', ['compose', 'https://messaging.example.com', target]);
  await write();
  await expect(write()).rejects.toMatchObject({ code: 1 });
  expect(statSync(join(target, '.env')).mode & 0o777).toBe(0o600);
  const env = await readFile(join(target, '.env'), 'utf8');
  const compose = await readFile(join(ROOT, 'docker-compose.yml'), 'utf8');
  for (const [, variable = ''] of compose.matchAll(/\$\{(\w+):\?/g))
    expect(env).toMatch(new RegExp(`^${variable}=[0-9a-f]{48}$`, 'm'));
  expect(env).toMatch(/^EXPORTER_DB_PASSWORD=[0-9a-f]{48}$/m);
  for (const variable of ['ENCRYPTION_KEYS', 'SIGNING_KEYS'])
    expect(env).toMatch(new RegExp(`^${variable}=1:[\\w+/]{43}=$`, 'm'));
});

test.skipIf(!HAS_COMPOSE)(
  'docker compose reads docker-compose.yml with these settings, and refuses it without (skipped without docker compose)',
  async () => {
    const target = await mkdtemp(join(folder, 'compose-'));
    await command('deploy/settings.sh', ['compose', 'https://messaging.example.com', target]);
    const config = async (file: string) => {
      const { stdout } = await command('docker', [
        'compose',
        `--env-file=${file}`,
        '--profile=monitoring',
        'config',
        '--format=json',
      ]);
      return parse(stdout) as { services: Record<string, { environment?: Record<string, string> }> };
    };
    const { services } = await config(join(target, '.env'));
    expect(Object.keys(services)).toEqual(
      expect.arrayContaining(['api', 'worker', 'backup', 'prometheus', 'alertmanager']),
    );
    expect(services['api']?.environment).toMatchObject({
      NODE_ENV: 'production',
      DATABASE_URL: expect.stringMatching(
        /^postgres:\/\/linepace_tenant:[0-9a-f]{48}@postgres:5432\/linepace$/,
      ),
      PUBLIC_URL: 'https://messaging.example.com',
    });
    await expect(config('/dev/null')).rejects.toMatchObject({
      stderr: expect.stringContaining('set it in .env'),
    });
  },
);

test.each([
  ['compose', 'http://messaging.example.com', '.'],
  ['somewhere', 'https://messaging.example.com', '.'],
  ['machine'],
])('settings.sh refuses the arguments %j', async (...args) => {
  await expect(command('deploy/settings.sh', args)).rejects.toMatchObject({ code: 2 });
});

test('the page names only files that are there', () => {
  for (const [, file = ''] of page.matchAll(/(?:^| )(deploy\/[\w./-]+)(?= |$)/gm))
    if (!file.includes('*')) expect(existsSync(join(ROOT, file)), file).toBe(true);
});
