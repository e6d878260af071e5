import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../bench/support/waiting.ts';
import { findTemporalCli } from '../../standalone/temporal-cli.ts';
import type { TwilioMessage } from '../../simulator/twilio.ts';
import { TWILIO_ACCOUNT } from '../../test/support/twilio.ts';
import { createMachine, debian } from './first-run/machine.ts';
import { FOLDER, provePart } from './world/part.ts';

/**
 * `npm run prove -- first-run`: runs every command of docs/deploy.md for one machine, on a fresh Debian 13 whose systemd runs in
 * namespaces of its own: apt, the units, Caddy, PostgreSQL, the first message, pgBackRest, Prometheus and Alertmanager. Then the database is
 * lost, and restored by the commands of docs/backup.md. Prints how long each command took. What is committed is installed. Requires root,
 * debootstrap, systemd-nspawn, and the registries of npm and Debian.
 */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const STAND_INS = '/srv/stand-ins';
const REPOSITORY = '/srv/linepace.git';
const NAME = 'messaging.example.com';
const [FROM, TO] = ['+14155550100', '+14155550123'];
const SMTP_PASSWORD = "it's: #secret";
/** What needs a network, which the machine has none of once it is booted. */
const FROM_REGISTRIES = /^(?:apt-get install|git clone|npm ci)/;
/** Where the authority is that a machine trusts. */
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';

/** The shell blocks of a section of a page. */
function blocksOf(page: string, section: string): string[] {
  const [, text = ''] = readFileSync(join(ROOT, 'docs', page), 'utf8').split(`\n## ${section}\n`);
  const [own = ''] = text.split('\n## ');
  return [...own.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
}

/** The commands of a block, of which some have several lines. */
function commandsOf(block: string): string[] {
  const commands: string[] = [];
  let open = '';
  for (const line of block.trimEnd().split('\n')) {
    open += open === '' ? line : `\n${line}`;
    if (spawnSync('bash', ['-n', '-c', open]).status !== 0) continue;
    commands.push(open);
    open = '';
  }
  if (open !== '') throw new Error(`incomplete: ${open}`);
  return commands;
}

/** The TCP ports that are open on other interfaces than the loopback one. @param table Linux's, of sockets. */
function openPorts(table: string): number[] {
  const listening = [...table.matchAll(/^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) \S+ 0A /gm)];
  const outside = listening.filter(
    ([, address = '']) => !/^(?:0100007F|0{24}01000000|0{16}FFFF00000100007F)$/.test(address),
  );
  return [...new Set(outside.map(([, , port = '']) => Number.parseInt(port, 16)))].toSorted((a, b) => a - b);
}

await provePart({
  name: 'first-run',
  async find() {
    const base = debian(FOLDER);
    return base === null
      ? 'a Debian 13 needs root, debootstrap and systemd-nspawn'
      : { version: 'Debian 13', base, temporal: await findTemporalCli(console.log) };
  },
  async prove({ base, temporal }, check) {
    const machine = createMachine(base, join(FOLDER, 'first-run'));
    const at = (path: string): string => join(machine.root, path);
    const times: [seconds: number, command: string][] = [];
    /** Runs commands in one shell, and notes the time of each. */
    const runTimed = (
      before: string,
      commands: readonly string[],
      env: Record<string, string> = {},
    ): string => {
      const printed = machine.run(
        [
          before,
          ...commands.flatMap((command, index) => [
            'started=$EPOCHREALTIME',
            command,
            `echo "@ ${index} $started $EPOCHREALTIME"`,
          ]),
        ].join('\n'),
        env,
      );
      for (const [, index, started, ended] of printed.matchAll(/^@ (\d+) (\S+) (\S+)$/gm)) {
        const command = commands[Number(index)] ?? '';
        times.push([Number(ended) - Number(started), command]);
      }
      return printed.replaceAll(/^@ .*\n/gm, '');
    };

    // A machine that has Node, the Temporal CLI and a name in DNS.
    const put = (file: string, path: string): void => {
      mkdirSync(dirname(at(path)), { recursive: true });
      cpSync(file, at(path), { dereference: true, recursive: true });
    };
    put(process.execPath, '/usr/bin/node');
    // The one that runs this: another Node in the PATH would have it look elsewhere.
    put(join(dirname(process.env['npm_execpath'] ?? ''), '..'), '/usr/lib/node_modules/npm');
    put(temporal, '/usr/local/bin/temporal');
    if (existsSync(AUTHORITIES)) put(AUTHORITIES, '/usr/local/share/ca-certificates/registries.pem');
    machine.run('ln -sf /usr/lib/node_modules/npm/bin/npm-cli.js /usr/bin/npm');
    execFileSync('git', ['clone', '--quiet', '--bare', ROOT, at(REPOSITORY)]);
    appendFileSync(at('/etc/hosts'), `127.0.0.1 localhost ${NAME} smtp.example.com\n`);

    const [install = '', shell = ''] = blocksOf('deploy.md', 'One machine');
    const [backup = ''] = blocksOf('deploy.md', 'Backup');
    const [alerts = '', , testAlert = ''] = blocksOf('deploy.md', 'An alert that reaches a person');
    const [setupCode = '', byHttp = ''] = blocksOf('deploy.md', 'The first message');
    const installing = commandsOf(install).map((command) =>
      command.replace('--branch v1.0.0 REPOSITORY', REPOSITORY),
    );
    const network = installing.findLastIndex((command) => FROM_REGISTRIES.test(command)) + 1;
    const settings = installing.findIndex((command) => command.startsWith('deploy/settings.sh')) + 1;
    const later = (block: string): string[] =>
      commandsOf(block).filter((command) => !FROM_REGISTRIES.test(command));
    const packages = [backup, alerts].flatMap(commandsOf).filter((command) => FROM_REGISTRIES.test(command));

    const online = {
      DEBIAN_FRONTEND: 'noninteractive',
      NODE_EXTRA_CA_CERTS: '/usr/local/share/ca-certificates/registries.pem',
    };
    machine.run('apt-get update', online);
    runTimed('', [...installing.slice(0, network), ...packages], online);
    rmSync(at('/usr/local/share/ca-certificates/registries.pem'), { force: true });

    // The mail server's certificate is one that the machine trusts.
    machine.run(
      `mkdir -p ${STAND_INS} && cd ${STAND_INS} && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=smtp.example.com \
        -addext subjectAltName=DNS:smtp.example.com -keyout key.pem -out certificate.pem
      cp certificate.pem /usr/local/share/ca-certificates/smtp.crt && update-ca-certificates
      git config --system --add safe.directory '*'`,
    );
    try {
      await machine.boot();
      machine.run(
        // Caddy signs the certificate of the name itself.
        `systemd-run --unit=stand-ins --working-directory=/opt/linepace --setenv=NODE_TLS_REJECT_UNAUTHORIZED=0 \
          /usr/bin/node lab/proof/first-run/stand-ins.ts ${STAND_INS} ${FROM} USER "$PASSWORD"`,
        { PASSWORD: SMTP_PASSWORD },
      );
      await until(async () => existsSync(at(`${STAND_INS}/twilio.url`)));
      runTimed('cd /opt/linepace', installing.slice(network, settings));
      appendFileSync(
        at('/etc/linepace/linepace.env'),
        `TWILIO_API_URL=${readFileSync(at(`${STAND_INS}/twilio.url`), 'utf8')}\n`,
      );
      const rest = installing.slice(settings);
      const caddyfile = rest.findIndex((command) => command.includes('Caddyfile')) + 1;
      runTimed('cd /opt/linepace', rest.slice(0, caddyfile));
      const proxy = readFileSync(at('/etc/caddy/Caddyfile'), 'utf8');
      writeFileSync(at('/etc/caddy/Caddyfile'), `{\n\tlocal_certs\n}\n${proxy}`);
      runTimed('cd /opt/linepace', rest.slice(caddyfile));
      const caddy = machine.run('caddy validate --config /etc/caddy/Caddyfile 2>&1');
      check('Caddy accepts its configuration', caddy.includes('Valid configuration'), caddy);
      const verified = machine.run(
        'systemd-analyze verify /etc/systemd/system/{temporal,linepace-api,linepace-worker,linepace-migrate,backup}.service /etc/systemd/system/backup.timer 2>&1',
      );
      check('systemd-analyze finds nothing in the units', verified.trim() === '', verified);
      const ready = (): boolean =>
        machine.run(`curl --silent --insecure https://${NAME}/readyz || true`).includes('"setup":"needed"');
      const booting = performance.now();
      await until(async () => ready()).catch(() => {});
      times.push([(performance.now() - booting) / 1000, '(until it is ready, through Caddy)']);
      check(
        'the API waits to be set up, through Caddy',
        ready(),
        machine.run('journalctl -u linepace-api -n 20 --no-pager'),
      );
      const root = at('/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt');
      put(root, '/usr/local/share/ca-certificates/caddy.crt');
      machine.run('update-ca-certificates');
      const account = {
        TWILIO_ACCOUNT_SID: TWILIO_ACCOUNT.sid,
        TWILIO_AUTH_TOKEN: TWILIO_ACCOUNT.authToken,
        FROM,
        TO,
      };
      const first = runTimed(shell, [setupCode, byHttp].flatMap(commandsOf), account);
      const sent = (): TwilioMessage[] =>
        JSON.parse(readFileSync(at(`${STAND_INS}/messages.json`), 'utf8')) as TwilioMessage[];
      const sending = performance.now();
      await until(async () => sent().length > 0).catch(() => {});
      times.push([(performance.now() - sending) / 1000, '(until it is at the carrier)']);
      check(
        'the first message is at the carrier',
        sent()[0]?.body === 'Hello from Linepace',
        first.slice(-800),
      );
      const id = /"_id":"([0-9a-f]{24})"[^\n]*$/.exec(first.trim())?.[1] ?? '';
      const status = (): string =>
        (JSON.parse(machine.run(`${shell}\nops timeline ${id}`)) as { status: string }).status;
      await until(async () => status() === 'delivered', 30_000).catch(() => {});
      check('its receipt came through Caddy', status() === 'delivered', status());

      machine.run('systemctl kill --signal=SIGKILL linepace-api');
      const isUp = (): boolean =>
        machine.run(
          `curl --silent --output /dev/null --write-out '%{http_code}' https://${NAME}/readyz || true`,
        ) === '200';
      await until(async () => isUp(), 60_000).catch(() => {});
      check('systemd starts a killed API again', isUp());

      const info = runTimed('cd /opt/linepace', later(backup));
      check('the first backup is made', info.includes('full backup'), info);
      const recorded = machine.run(
        `su postgres -c "psql --dbname=linepace --tuples-only --no-align --command='select count(*) from recorded_runs where run = '\\''backup'\\'''"`,
      );
      check('… and recorded', recorded.trim() === '1', recorded);
      machine.run('su postgres -c "psql --command=\'select pg_switch_wal()\'"');
      await until(async () =>
        machine
          .run(
            'su postgres -c "psql --tuples-only --no-align --command=\'select failed_count, archived_count > 1 from pg_stat_archiver\'"',
          )
          .includes('t'),
      );

      const lost = new Date();
      const restore = /On one machine:\n\n```sh\n([\s\S]*?)```/.exec(
        readFileSync(join(ROOT, 'docs/backup.md'), 'utf8'),
      )?.[1];
      const [stop = '', ...restoring] = commandsOf(restore ?? '');
      runTimed('', [stop]);
      machine.run('rm -rf /var/lib/postgresql/17/main/*');
      const restored = runTimed(
        shell,
        restoring.map((command) =>
          command
            .replace('LAST_COMMIT', new Date(lost.getTime() - 120_000).toISOString())
            .replace('FAILURE', lost.toISOString())
            .replace('NAME', 'proof'),
        ),
      );
      await until(async () => isUp(), 60_000).catch(() => {});
      check(
        'the lost database is restored, and the message is there',
        isUp() && status() === 'delivered',
        restored,
      );

      runTimed(
        'cd /opt/linepace',
        later(alerts).map((command) => command.replace('SMTP_PASSWORD=… ', '')),
        {
          SMTP_PASSWORD,
        },
      );
      const targets = (): string =>
        machine.run(`curl --silent 'http://localhost:9090/api/v1/query?query=up' || true`);
      const isScraped = (): boolean =>
        ['linepace-api', 'linepace-worker', 'postgres', 'node'].every((job) =>
          new RegExp(`"job":"${job}"\\},"value":\\[[\\d.]+,"1"`).test(targets()),
        );
      await until(async () => isScraped(), 60_000).catch(() => {});
      check('Prometheus scrapes what runs', isScraped(), targets());
      const archiving = machine.run(
        "curl --silent 'http://localhost:9090/api/v1/query?query=pg_stat_archiver_failed_count'",
      );
      check('… and knows whether the log is archived', archiving.includes('"value"'), archiving);
      await until(async () =>
        machine.run('curl --silent http://localhost:9093/-/ready || true').includes('OK'),
      );
      runTimed('', commandsOf(testAlert));
      const mails = (): string => {
        const file = at(`${STAND_INS}/mails`);
        return existsSync(file) ? readFileSync(file, 'utf8') : '';
      };
      const waiting = performance.now();
      await until(async () => /^Subject: PAGE Test/m.test(mails())).catch(() => {});
      times.push([(performance.now() - waiting) / 1000, '(until the email of the alert is there)']);
      check(
        'a test alert is an email to a person',
        /^To: ana@example.com/m.test(mails()),
        mails().slice(0, 800),
      );
      const open = openPorts(machine.run('cat /proc/net/tcp /proc/net/tcp6'));
      check('only Caddy is reachable from outside', open.join() === '80,443', open);
    } finally {
      await machine.stop();
      console.table(
        times.map(([seconds, command]) => ({
          seconds: seconds.toFixed(1),
          command: command.split('\n', 1)[0]?.slice(0, 90),
        })),
      );
    }
  },
});
