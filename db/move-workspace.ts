import pg from 'pg';

/** A server of a Citus cluster, as the coordinator knows it. */
export interface NodeAddress {
  host: string;
  port: number;
}

/** Workspaces whose ids have the same hash cannot be apart. */
const MOVED = `
  select array_agg(id) as ids from workspaces where get_shard_id_for_distribution_column('messages', id) = $1::bigint`;

/**
 * The transactions in `workflow_wakes` have ids of the former node. One of the new node could have an id that a workflow has
 * seen, which would lose a wake: so every workflow looks again.
 */
const LOOK_AGAIN = `update workflow_wakes set requested_by = '0', sweep_at = now() where workspace_id = any($1)`;

const PLACE = `
  select s.shardid::text as shard, p.nodename as host, p.nodeport as port, s.shardminvalue = s.shardmaxvalue as "isAlone"
  from pg_dist_shard s join citus_shards p using (shardid)
  where s.shardid = get_shard_id_for_distribution_column('messages', $1::text)`;

interface Place extends NodeAddress {
  /** Of `messages`; the other tables of workspaces have one in the same place. */
  shard: string;
  /** Whether it has only this workspace. */
  isAlone: boolean;
}

/**
 * Moves a workspace to a node of its Citus cluster, in shards of its own. What is written to the former shards waits meanwhile. An
 * interrupted move can be repeated.
 * @param ownerUrl a superuser at the coordinator.
 * @throws if the database is not distributed, or there is no such workspace or node.
 */
export async function moveWorkspace(ownerUrl: string, workspaceId: string, to: NodeAddress): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    if (!(await exists(client, `pg_extension where extname = 'citus'`, [])))
      throw new Error('The database is not distributed over a Citus cluster.');
    if (!(await exists(client, 'workspaces where id = $1', [workspaceId])))
      throw new Error(`There is no workspace ${workspaceId}.`);
    if (!(await exists(client, NODES_AT, [to.host, to.port])))
      throw new Error(`The cluster has no node at ${to.host}:${to.port} that has shards.`);
    if (!(await findPlace(client, workspaceId)).isAlone)
      await client.query(
        `select isolate_tenant_to_new_shard('messages', $1::text, 'CASCADE', shard_transfer_mode => 'block_writes')`,
        [workspaceId],
      );
    const { shard, host, port } = await findPlace(client, workspaceId);
    // Row-level security refuses what logical replication writes, so no other mode than `block_writes` ends.
    if (host !== to.host || port !== to.port)
      await client.query(
        `select citus_move_shard_placement($1::bigint, $2::text, $3, $4, $5, shard_transfer_mode => 'block_writes')`,
        [shard, host, port, to.host, to.port],
      );
    const { rows } = await client.query<{ ids: string[] }>(MOVED, [shard]);
    await client.query(LOOK_AGAIN, [rows[0]?.ids]);
  } finally {
    await client.end();
  }
}

const NODES_AT = 'pg_dist_node where nodename = $1 and nodeport = $2 and shouldhaveshards';

const exists = async (client: pg.Client, rows: string, values: unknown[]): Promise<boolean> =>
  (await client.query(`select from ${rows}`, values)).rows.length > 0;

async function findPlace(client: pg.Client, workspaceId: string): Promise<Place> {
  const { rows } = await client.query<Place>(PLACE, [workspaceId]);
  const [place] = rows;
  if (!place) throw new Error(`No node has the shard of ${workspaceId}.`);
  return place;
}
