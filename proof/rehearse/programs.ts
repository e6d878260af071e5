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
