import { connected } from '#db/connection/connected.ts';
import { distribute } from '#db/distribution/distribute.ts';
import { migrate } from '#db/migrate.ts';
import { databaseLogins } from '#standalone/database-logins.ts';

/** The URL of a database on the server of another URL. */
export const databaseAt = (url: string, name: string): string =>
  Object.assign(new URL(url), { pathname: name }).href;

const run = (url: string, ...statements: string[]): Promise<void> =>
  connected(url, async (client) => {
    for (const statement of statements) await client.query(statement);
  });

const address = (url: string): string => `'${new URL(url).hostname}', ${new URL(url).port}`;

/**
 * The servers of a Citus cluster, the coordinator first.
 * @param coordinator URL of a superuser in a database with the extension, which knows the nodes.
 */
export async function clusterNodes(coordinator: string): Promise<readonly string[]> {
  return connected(coordinator, async (client) => {
    const { rows } = await client.query<{ host: string; port: number }>(
      'select nodename host, nodeport port from pg_dist_node where groupid <> 0 order by nodeid',
    );
    const nodes = rows.map(
      ({ host, port }) => Object.assign(new URL(coordinator), { hostname: host, port: String(port) }).href,
    );
    return [coordinator, ...nodes];
  });
}

/** Creates a distributed database, in place of one of that name. */
export async function createDistributedDatabase(nodes: readonly string[], name: string): Promise<void> {
  const [coordinator, ...others] = nodes;
  if (coordinator === undefined) throw new Error('a cluster has a coordinator');
  await dropOnNodes(nodes, name);
  for (const node of nodes) {
    await run(node, `create database ${name}`, `alter database ${name} set citus.shard_count = 4`);
    await run(databaseAt(node, name), 'create extension citus');
  }
  const database = databaseAt(coordinator, name);
  await run(
    database,
    `select citus_set_coordinator_host(${address(coordinator)})`,
    ...others.map((node) => `select citus_add_node(${address(node)})`),
  );
  await migrate(database, databaseLogins(database));
  await distribute(database);
}

async function dropOnNodes(nodes: readonly string[], name: string): Promise<void> {
  for (const node of nodes) await run(node, `drop database if exists ${name} with (force)`);
}

/** Creates a distributed database, which others are copied from on each node, as its nodes and shards are rows of it. */
export async function createClusterTemplate(nodes: readonly string[], name: string): Promise<void> {
  await createDistributedDatabase(nodes, name);
  // The cluster's own processes keep connections, which a copy does not tolerate.
  for (const node of nodes) {
    await run(
      node,
      `alter database ${name} with allow_connections false`,
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`,
    );
  }
}

/** Drops what runs that were killed have left. */
export async function dropLeftDatabases(nodes: readonly string[]): Promise<void> {
  for (const node of nodes) {
    await connected(node, async (client) => {
      const { rows } = await client.query<{ name: string }>(
        `select datname as name from pg_database where datname ~ '^test_[0-9a-f]{12}$'`,
      );
      for (const { name } of rows) await client.query(`drop database if exists ${name} with (force)`);
    });
  }
}
