import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { connected } from '../connection/connected.ts';

const OBJECTS = new URL('./', import.meta.url);

/**
 * Each node has a copy of these: few rows, which all workspaces read. A table is after those to which it refers. Triggers of
 * theirs run on the coordinator too, where the API processes listen.
 */
const COPIED = [
  'agencies',
  'users',
  'workspaces',
  'workspace_members',
  'lookups',
  'line_moves',
  'agency_suppressions',
  'test_clocks',
];

/** What sessions on every node need, and why. A copy of the database does not have them. */
export const SETTINGS = {
  // Row-level security depends on settings of a transaction.
  'citus.propagate_set_commands': 'local',
  // Triggers read and write other tables of the same workspace.
  'citus.enable_unsafe_triggers': 'on',
  'citus.allow_nested_distributed_execution': 'on',
  // Who writes a copied table locks those that it refers to: workspaces refer to agencies, which no tenant may write.
  'citus.skip_advisory_lock_permission_checks': 'on',
};

/**
 * Distributes the tables of a migrated database over the nodes of its Citus cluster: those of workspaces by `workspace_id`,
 * together. What is distributed already stays as it is.
 * @param ownerUrl of the coordinator.
 * @returns the names of the tables that were distributed.
 * @throws if the database is not that of a cluster's coordinator, or the cluster lacks a setting.
 */
export async function distribute(ownerUrl: string): Promise<string[]> {
  return connected(ownerUrl, async (client) => {
    await checkCluster(client);
    await prepareSessions(client);
    await prepareObjects(client);
    const tables = await distributeTables(client);
    // Citus fills identity columns by `nextval` of whoever inserts, at the coordinator or at the node.
    await client.query(GRANT_SEQUENCES);
    await distributeFunctions(client);
    return tables;
  });
}

const CLUSTER = `
  select current_setting('is_superuser') = 'on' as "isSuperuser",
    exists (select from pg_dist_node where groupid = 0) as "hasCoordinator",
    (select count(*)::int from pg_dist_node where isactive and shouldhaveshards) as nodes`;

const UNPREPARED = `
  select nodename || ':' || nodeport as node
  from run_command_on_all_nodes('show max_prepared_transactions') join pg_dist_node using (nodeid)
  where not success or result = '0' order by 1`;

async function checkCluster(client: pg.Client): Promise<void> {
  const { rows: extensions } = await client.query(`select from pg_extension where extname = 'citus'`);
  if (extensions.length === 0)
    throw new Error(
      'This database cannot be distributed: it has no extension citus. docs/scaling.md, "Several primaries", says how to set up a cluster.',
    );
  const { rows } = await client.query<{ isSuperuser: boolean; hasCoordinator: boolean; nodes: number }>(
    CLUSTER,
  );
  const [cluster] = rows;
  if (!cluster?.isSuperuser)
    throw new Error(
      'DATABASE_OWNER_URL must log in as a superuser to distribute: row-level security would hide rows that are to be moved.',
    );
  if (!cluster.hasCoordinator)
    throw new Error(
      `The cluster does not know its coordinator: run select citus_set_coordinator_host('HOST', PORT) with the address at which nodes reach it.`,
    );
  if (cluster.nodes === 0)
    throw new Error(`The cluster has no node for shards: run select citus_add_node('HOST', PORT) for each.`);
  const { rows: unprepared } = await client.query<{ node: string }>(UNPREPARED);
  if (unprepared.length > 0)
    throw new Error(
      `Set max_prepared_transactions to at least max_connections on ${unprepared.map(({ node }) => node).join(', ')}, and restart: transactions of several nodes are committed in two phases.`,
    );
}

/** For new sessions of the database on every node, and for this one. */
async function prepareSessions(client: pg.Client): Promise<void> {
  for (const [name, value] of Object.entries(SETTINGS)) {
    await client.query(`set ${name} = '${value}'`);
    // The coordinator passes it on.
    await client.query(
      `do $$ begin execute format('alter database %I set ${name} = ''${value}''', current_database()); end $$`,
    );
  }
}

/** On each node by itself: Citus passes on no grants of the sequences of identity columns. */
const GRANT_SEQUENCES = `
  select run_command_on_all_nodes($grant$
    do $$
    begin
      set local citus.enable_ddl_propagation = off;
      grant usage on all sequences in schema public to linepace_tenant, linepace_system;
    end $$
  $grant$)`;

const FUNCTIONS = `
  select p.oid::regprocedure::text as name from pg_proc p
  where p.pronamespace = 'public'::regnamespace and p.prokind = 'f'
    and not exists (select from pg_depend d where d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e')
    and not exists (select from pg_dist_object o where o.classid = 'pg_proc'::regclass and o.objid = p.oid)
  order by 1`;

/**
 * Run on the node that has the workspace: `erase_consents` as its owner, who sees only there what a transaction has changed, and
 * `publish_events`, whose snapshots are those of the node.
 */
const FUNCTIONS_ON_NODES = `
  select create_distributed_function('erase_consents(text, text[])', 'of_workspace', 'consents', force_delegation => true),
    create_distributed_function('publish_events(text)', 'of_workspace', 'event_publications', force_delegation => true)`;

/** The functions, triggers and policies that differ on a cluster, one statement a file: Citus passes on only single ones. */
async function prepareObjects(client: pg.Client): Promise<void> {
  for (const file of readdirSync(OBJECTS).toSorted())
    await client.query(readFileSync(new URL(file, OBJECTS), 'utf8'));
}

/** After the tables that they name. Triggers on nodes call them. */
async function distributeFunctions(client: pg.Client): Promise<void> {
  await client.query(FUNCTIONS_ON_NODES);
  const { rows } = await client.query<{ name: string }>(FUNCTIONS);
  for (const { name } of rows) await client.query('select create_distributed_function($1)', [name]);
}

/** A table that is Citus's own on the coordinator alone has yet to be distributed. */
const KNOWN = `
  select logicalrelid::text as name from pg_dist_partition where partmethod = 'h' or repmodel = 't'`;

/** A table after those that it refers to. */
const TENANT_TABLES = `
  with recursive above as (
    select c.oid as of_table, c.oid as oid, 0 as depth from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and exists (select from pg_policy where polrelid = c.oid and polname = 'tenant')
    union
    select a.of_table, f.confrelid, depth + 1 from above a join pg_constraint f on f.conrelid = a.oid and f.contype = 'f' and f.confrelid <> f.conrelid
  )
  select of_table::regclass::text as name from above group by of_table order by max(depth), 1`;

/**
 * The foreign keys that refer to tables which are to be distributed. As soon as one has copies, Citus makes each table that refers
 * to it one of its own, under another OID than functions know, and cannot do that with partitions.
 */
const FOREIGN_KEYS = `
  select conrelid::regclass::text as of_table, conname as name, pg_get_constraintdef(oid) as definition
  from pg_constraint where contype = 'f' and conparentid = 0 and confrelid = any($1::regclass[])`;

async function distributeTables(client: pg.Client): Promise<string[]> {
  const names = async (query: string): Promise<string[]> =>
    (await client.query<{ name: string }>(query)).rows.map(({ name }) => name);
  const known = new Set(await names(KNOWN));
  const isNew = (name: string): boolean => !known.has(name);
  const copied = COPIED.filter(isNew);
  const distributed = (await names(TENANT_TABLES)).filter((name) => isNew(name) && !COPIED.includes(name));

  await client.query('begin');
  // The owner's policies open with the first; the second keeps each node to one connection, as a transaction that changes the
  // schema demands.
  await client.query(
    `set local app.migrating = 'on'; set local citus.multi_shard_modify_mode = 'sequential'`,
  );
  const { rows: keys } = await client.query<{ of_table: string; name: string; definition: string }>(
    FOREIGN_KEYS,
    [[...copied, ...distributed]],
  );
  for (const { of_table, name } of keys)
    await client.query(`alter table ${of_table} drop constraint ${pg.escapeIdentifier(name)}`);
  for (const name of copied) await client.query('select create_reference_table($1)', [name]);
  for (const name of distributed)
    await client.query(`select create_distributed_table($1, 'workspace_id')`, [name]);
  for (const { of_table, name, definition } of keys)
    await client.query(`alter table ${of_table} add constraint ${pg.escapeIdentifier(name)} ${definition}`);
  await client.query('commit');
  return [...copied, ...distributed];
}
