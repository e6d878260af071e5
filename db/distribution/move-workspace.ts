import type pg from 'pg';
import { connected } from '../connection/connected.ts';

/** A shard of `messages`. The other tables of workspaces have one in the same place. */
interface Shard {
  id: string;
  /** `HOST:PORT` of its node. */
  node: string;
  /** Whether it has only one workspace. */
  isIsolated: boolean;
}

const SHARD = `
  select s.shardid::text as id, p.nodename || ':' || p.nodeport as node, s.shardminvalue = s.shardmaxvalue as "isIsolated"
  from pg_dist_shard s join citus_shards p using (shardid)
  where s.shardid = get_shard_id_for_distribution_column('messages', $1::text)`;

const NODE = `
  select nodename as host, nodeport as port from pg_dist_node where nodename || ':' || nodeport = $1 and shouldhaveshards`;

/** Workspaces whose ids have the same hash are always together. */
const WORKSPACES_OF_SHARD = `
  select array_agg(id) as ids from workspaces where get_shard_id_for_distribution_column('messages', id) = $1::bigint`;

/**
 * The transactions in `workflow_wakes` have ids of the former node. One of the new node could have an id that a workflow has
 * seen, which would lose a wake: so every workflow looks again.
 */
const LOOK_AGAIN = `update workflow_wakes set requested_by = '0', sweep_at = now() where workspace_id = any($1)`;

/** Nothing is known of transactions of the new node, even if the workspace was there before. */
const PUBLISH_ANEW = `update event_publications set server = '' where workspace_id = any($1)`;

/**
 * Moves a workspace to a node of its Citus cluster, in shards of its own. What is written to the former shards waits meanwhile. An
 * interrupted move can be repeated.
 * @param ownerUrl a superuser at the coordinator.
 * @param to `HOST:PORT` of the node, as the coordinator knows it.
 * @throws if the database is not distributed, or there is no such workspace or node.
 */
export async function moveWorkspace(ownerUrl: string, workspaceId: string, to: string): Promise<void> {
  await connected(ownerUrl, async (client) => {
    if (!(await exists(client, `pg_extension where extname = 'citus'`, [])))
      throw new Error('The database is not distributed over a Citus cluster.');
    if (!(await exists(client, 'workspaces where id = $1', [workspaceId])))
      throw new Error(`There is no workspace ${workspaceId}.`);
    const target = await findNode(client, to);
    const step = (text: string, values: unknown[]) => despiteDeadlocks(() => client.query(text, values));
    if (!(await findShard(client, workspaceId)).isIsolated)
      await step(
        `select isolate_tenant_to_new_shard('messages', $1::text, 'CASCADE', shard_transfer_mode => 'block_writes')`,
        [workspaceId],
      );
    const { id: shard, node } = await findShard(client, workspaceId);
    if (node !== to) {
      const source = await findNode(client, node);
      // Row-level security refuses what logical replication writes, so no other mode than `block_writes` ends.
      await step(
        `select citus_move_shard_placement($1::bigint, $2::text, $3, $4, $5, shard_transfer_mode => 'block_writes')`,
        [shard, source.host, source.port, target.host, target.port],
      );
    }
    const { rows } = await client.query<{ ids: string[] }>(WORKSPACES_OF_SHARD, [shard]);
    for (const statement of [LOOK_AGAIN, PUBLISH_ANEW]) await step(statement, [rows[0]?.ids]);
  });
}

/** Where a workspace of a distributed database is, as `HOST:PORT`. @param ownerUrl a superuser at the coordinator. */
export async function nodeOfWorkspace(ownerUrl: string, workspaceId: string): Promise<string> {
  return connected(ownerUrl, async (client) => (await findShard(client, workspaceId)).node);
}

const DEADLOCK = '40P01';
const MOST_ATTEMPTS = 10;

/**
 * A step locks a workspace and the tables with copies one after the other, and so do transactions that write to them. If they wait
 * for each other, PostgreSQL or Citus cancels one of them, which may be the step.
 */
async function despiteDeadlocks(step: () => Promise<unknown>): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      await step();
      return;
    } catch (error) {
      if ((error as { code?: unknown }).code !== DEADLOCK || attempts === MOST_ATTEMPTS) throw error;
    }
  }
}

const exists = async (client: pg.Client, rows: string, values: unknown[]): Promise<boolean> =>
  (await client.query(`select from ${rows}`, values)).rows.length > 0;

async function findShard(client: pg.Client, workspaceId: string): Promise<Shard> {
  const [shard] = (await client.query<Shard>(SHARD, [workspaceId])).rows;
  if (!shard) throw new Error(`No node has the shard of ${workspaceId}.`);
  return shard;
}

async function findNode(client: pg.Client, address: string): Promise<{ host: string; port: number }> {
  const [node] = (await client.query<{ host: string; port: number }>(NODE, [address])).rows;
  if (!node) throw new Error(`The cluster has no node at ${address} that has shards.`);
  return node;
}
