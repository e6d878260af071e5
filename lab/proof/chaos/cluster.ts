import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { moveWorkspace, nodeOfWorkspace } from '../../../db/distribution/move-workspace.ts';
import { until } from '../../bench/support/waiting.ts';
import {
  clusterNodes,
  createDistributedDatabase,
  databaseAt,
  dropOnNodes,
} from '../../../test/setup/cluster.ts';
import { connected } from '../../../db/connection/connected.ts';

/** A node that has shards. It runs on this machine. */
export interface Node {
  /** host:port */
  name: string;
  kill(): void;
  start(): Promise<void>;
  /** Accepts connections, and does not respond until it resumes. */
  freeze(): void;
  resume(): void;
}

export interface Cluster {
  /** The URL of the superuser at the coordinator. */
  databaseUrl: string;
  nodes: readonly Node[];
  /** Where the rows of a workspace are. */
  nodeOf(workspaceId: string): Promise<string>;
  /** Moves a workspace to a node, and no other. */
  move(workspaceId: string, node: Node): Promise<void>;
  drop(): Promise<void>;
}

const START_MS = 120_000;

/** @param coordinator as of `TEST_CITUS`. */
export async function createCluster(coordinator: string, database: string): Promise<Cluster> {
  const servers = await clusterNodes(coordinator);
  await createDistributedDatabase(servers, database);
  const databaseUrl = databaseAt(coordinator, database);
  return {
    databaseUrl,
    nodes: await Promise.all(servers.slice(1).map(nodeAt)),
    nodeOf: (workspaceId) => nodeOfWorkspace(databaseUrl, workspaceId),
    move: (workspaceId, { name }) => moveWorkspace(databaseUrl, workspaceId, name),
    drop: () => dropOnNodes(servers, database),
  };
}

async function nodeAt(url: string): Promise<Node> {
  const { folder, command } = await connected(url, async (client) => {
    const { rows } = await client.query<{ folder: string; command: string }>(
      `select current_setting('data_directory') folder, pg_read_file('postmaster.opts') command`,
    );
    return rows[0] ?? { folder: '', command: '' };
  });
  // `/usr/lib/postgresql/bin/postgres "-D" "/var/lib/postgresql"`
  const [program = '', ...options] = command.trim().split(/ (?=")/);
  const { uid, gid } = statSync(folder);
  const pidOf = (): string => readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0] ?? '';
  return {
    name: new URL(url).host,
    kill: () => void process.kill(Number(pidOf()), 'SIGKILL'),
    freeze() {
      // First, so that it starts no more processes.
      process.kill(Number(pidOf()), 'SIGSTOP');
      spawnSync('pkill', ['-STOP', '-P', pidOf()]);
    },
    resume() {
      spawnSync('pkill', ['-CONT', '-P', pidOf()]);
      process.kill(Number(pidOf()), 'SIGCONT');
    },
    async start() {
      await until(async () => {
        const log = openSync(join(folder, 'chaos.log'), 'a');
        spawn(
          program,
          options.map((option) => option.slice(1, -1)),
          { uid, gid, cwd: '/', env: {}, detached: true, stdio: ['ignore', log, log] },
        ).unref();
        closeSync(log);
        await until(() => connected(url, async () => true), START_MS / 10);
        return true;
      }, START_MS);
    },
  };
}
