import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';

/** The version of `docker-compose.yml`. */
const TEMPORAL = 'v1.31.2';

/** What the rehearsal runs that npm does not install. */
export interface Programs {
  temporalServer: string;
  temporalSql: string;
  prometheus: string;
  promtool: string;
  /** Makes a process see another time: `libfaketime.so.1`. */
  faketime: string;
}

const FAKETIME = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1',
];

/**
 * Finds the programs on the PATH, and builds Temporal with Go unless it is there.
 * @param folder keeps what was built.
 * @throws with all that is missing.
 */
export function findPrograms(folder: string): Programs {
  const missing: string[] = [];
  const require = (found: string | undefined, way: string): string => {
    if (found === undefined) missing.push(way);
    return found ?? '';
  };
  const programs = {
    temporalServer: require(onPath('temporal-server') ??
      built(folder, 'server'), 'temporal-server, or Go to build it'),
    temporalSql: require(onPath('temporal-sql-tool') ??
      built(folder, 'tools/sql'), 'temporal-sql-tool, or Go to build it'),
    prometheus: require(onPath('prometheus'), 'prometheus (Debian: apt-get install prometheus)'),
    promtool: require(onPath('promtool'), 'promtool (Debian: apt-get install prometheus)'),
    faketime: require(FAKETIME.find(existsSync), 'libfaketime (Debian: apt-get install libfaketime)'),
  };
  require(onPath('openssl'), 'openssl');
  if (missing.length > 0) throw new Error(`The rehearsal needs\n  ${missing.join('\n  ')}`);
  return programs;
}

/** The first version that knows PostgreSQL 18. */
const PGBACKREST = [2, 55] as const;

/** @throws if pgBackRest is not on the PATH, or too old. */
export function findPgBackRest(): string {
  const program = onPath('pgbackrest');
  const version = program && spawnSync(program, ['version'], { encoding: 'utf8' }).stdout.trim();
  const [major = 0, minor = 0] = (/[\d.]+/.exec(version ?? '')?.[0] ?? '').split('.').map(Number);
  if (program && (major > PGBACKREST[0] || (major === PGBACKREST[0] && minor >= PGBACKREST[1])))
    return program;
  throw new Error(
    `The drill needs pgBackRest ${PGBACKREST.join('.')} or later, which knows PostgreSQL 18 (${version || 'none is'} on the PATH): the package pgbackrest of Debian 13 or later, or of apt.postgresql.org`,
  );
}

function onPath(name: string): string | undefined {
  const { status, stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** Builds a program of Temporal once, which takes about three minutes on two cores. */
function built(folder: string, command: string): string | undefined {
  const program = join(folder, `temporal-${command.replaceAll('/', '-')}-${TEMPORAL}`);
  if (existsSync(program)) return program;
  if (onPath('go') === undefined) return undefined;
  console.log(`building go.temporal.io/server/cmd/${command} …`);
  mkdirSync(folder, { recursive: true });
  const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0' };
  execFileSync('go', ['install', `go.temporal.io/server/cmd/${command}@${TEMPORAL}`], { env, stdio: 'pipe' });
  renameSync(join(folder, command.split('/').at(-1) ?? ''), program);
  return program;
}
