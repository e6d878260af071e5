import pg from 'pg';
import { connected } from './connected.ts';

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

/**
 * `set_local` by a statement, because nodes get no setting that `set_config` makes. The coordinator chooses plans by the shards
 * that parameters name, so it takes no generic plan.
 */
const SET_LOCAL = `
  create or replace function set_local(name text, value text) returns text language plpgsql as $$
  begin
    if name <> 'plan_cache_mode' then
      execute format('set local %s = %L', name, value);
    end if;
    return value;
  end $$`;

/** `notify_credentials` on the coordinator alone, where the API processes listen: a transaction that notifies cannot be prepared. */
const NOTIFY_CREDENTIALS = `
  create or replace function notify_credentials() returns trigger language plpgsql as $$
  begin
    if (select groupid from pg_dist_local_group) = 0 then
      notify credentials;
    end if;
    return null;
  end $$`;

/** Events have the id of the node's transaction. The coordinator would give them the default, of its own. */
const TRANSACTION_OF_NODE = `
  create or replace function transaction_of_node() returns trigger language plpgsql as $$
  begin
    new.transaction_id := pg_current_xact_id();
    return new;
  end $$`;

const ON_EMITTED_EVENTS = `
  create or replace trigger transaction_of_node before insert on emitted_events for each row execute function transaction_of_node()`;

/** So do requests of workflows, also of those that another server inserts. The workflow's own decisions have the ids that it has seen. */
const REQUESTED_ON_NODE = `
  create or replace function requested_on_node() returns trigger language plpgsql as $$
  begin
    if new.lowered_by <> '0' then
      new.requested_by := pg_current_xact_id();
      new.lowered_by := new.requested_by;
    end if;
    return new;
  end $$`;

const ON_WORKFLOW_WAKES = `
  create or replace trigger requested_on_node before insert on workflow_wakes for each row execute function requested_on_node()`;

/** The group of the node, as Citus numbers them. */
const NODE_OF = `
  create or replace function node_of(workspace text) returns int language plpgsql stable as $$
  begin
    return (
      select groupid from pg_dist_placement where shardid = get_shard_id_for_distribution_column('drip_buffer', workspace) limit 1
    );
  end $$`;

/** A statement reads one shard, so that its snapshot is that of one node. Workspaces of a node that is down are left out. */
const PUBLICATIONS_OF = `
  create or replace function publications_of(of_workspaces text[])
    returns table (workspace_id text, "position" bigint, pending boolean, shard bigint) language plpgsql stable as $$
  #variable_conflict use_column
  declare
    before text := first_id(now() + interval '24 hours');
    shard record;
  begin
    for shard in
      select get_shard_id_for_distribution_column('event_publications', id) id, array_agg(id) workspaces
      from unnest(of_workspaces) id group by 1
    loop
      begin
        return query
        select w.id, coalesce(p.position, 0), case
            when p.server = (select server_identifier()) and p.published_at > now() - interval '1 hour' then exists (
                select from emitted_events e
                where e.workspace_id = w.id and e.workspace_id = any(shard.workspaces)
                  and e.id >= first_id_after(p.published_at) and e.id < before
                  and e.transaction_id >= pg_snapshot_xmax(p.snapshot) and e.transaction_id < pg_snapshot_xmax(pg_current_snapshot())
              ) or pg_snapshot_xmin(p.snapshot) < pg_snapshot_xmax(p.snapshot) and exists (
                select from emitted_events e
                where e.workspace_id = w.id and e.workspace_id = any(shard.workspaces)
                  and e.transaction_id = any(array(select pg_snapshot_xip(p.snapshot)))
              )
            else true
          end, shard.id
        from unnest(shard.workspaces) w (id)
        left join event_publications p on p.workspace_id = w.id and p.workspace_id = any(shard.workspaces);
      exception when connection_exception then
        null;
      end;
    end loop;
  end $$`;

/** A recursive query has to be of one workspace. */
const STRANDED_QUEUES = `
  create or replace function stranded_queues() returns table (workspace_id text, line_id text) language plpgsql stable as $$
  #variable_conflict use_column
  declare
    workspace text;
  begin
    for workspace in select id from workspaces loop
      return query
        with recursive queues as (
          select '' collate "C" line_id
          union all
          select (select min(m.line_id) from messages m
            where m.workspace_id = workspace and m.line_id > q.line_id
              and (m.status in ('pending', 'scheduled') or m.fallback_sms = 'due'))
          from queues q where q.line_id is not null
        )
        select workspace, q.line_id from queues q
        where q.line_id <> '' and not exists (select from lines l where l.workspace_id = workspace and l.id = q.line_id);
    end loop;
  end $$`;

/** Asks only the nodes that respond. Workflows of a node that is down are swept when it is back. */
const OVERDUE_WAKES = `
  create or replace function overdue_wakes(most int) returns table (workspace_id text, workflow_id text) language sql stable as $$
    select o.workspace_id, o.workflow_id
    from run_command_on_shards('workflow_wakes', 'select coalesce(json_agg(due), ''[]'') from (
      select workspace_id, workflow_id, sweep_at from %s where sweep_at < now() and sweep_at < ''infinity''
      order by sweep_at limit ' || most || ') due', parallel => false) shard,
    json_to_recordset(shard.result::json) o (workspace_id text, workflow_id text, sweep_at timestamptz)
    where shard.success order by o.sweep_at limit most
  $$`;

/** On all shards of a table, one after the other. Their commands are committed by themselves. */
const ON_EACH_SHARD = `
  create or replace function on_each_shard(of_table text, command text) returns setof text language plpgsql as $$
  declare
    shard record;
  begin
    if not exists (select from pg_dist_partition where logicalrelid = of_table::regclass) then
      return query execute format(command, quote_ident(of_table));
      return;
    end if;
    for shard in select * from run_command_on_shards(of_table, command, parallel => false) loop
      if not shard.success then
        raise 'shard % of %: %', shard.shardid, of_table, shard.result;
      end if;
      return next shard.result;
    end loop;
  end $$`;

/** No statement that is for several nodes may skip rows that are locked. */
const RECORD_HEALTHY = `
  create or replace function record_healthy(of_workspaces text[], of_lines text[], at timestamptz[]) returns setof text
    language plpgsql as $$
  declare
    own record;
  begin
    for own in
      select workspace_id, array_agg(id) ids, array_agg(checked_at) times
      from unnest(of_workspaces, of_lines, at) k (workspace_id, id, checked_at) group by 1
    loop
      return query
        with known as materialized (
          select l.id, k.checked_at from unnest(own.ids, own.times) k (id, checked_at)
          join lines l on l.workspace_id = own.workspace_id and l.id = k.id
          where l.health_status <> 'down'
          for no key update of l skip locked
        )
        update lines l set health_status = 'healthy', failed_probes = 0, health_checked_at = known.checked_at
        from known where l.workspace_id = own.workspace_id and l.id = known.id
        returning l.id::text;
    end loop;
  end $$`;

/** A node that is down concerns its own lines alone. */
const CALLBACK_LINES = `
  create or replace function callback_lines(of_lines text[]) returns table (
    id text, workspace_id text, carrier text, carrier_config jsonb, has_moved boolean, provider text, account_sid text,
    auth_token_sealed text, from_number text, messaging_service_sid text
  ) language plpgsql stable as $$
  #variable_conflict use_column
  declare
    home record;
  begin
    for home in
      select o.workspace_id, array_agg(o.key) lines from lookups o where o.kind = 'line' and o.key = any(of_lines) group by 1
    loop
      return query
        select l.id::text, l.workspace_id, l.carrier, l.carrier_config, exists (select from line_moves m where m.line_id = l.id),
          f.provider, f.account_sid, f.auth_token_sealed, f.from_number, f.messaging_service_sid
        from lines l left join fallback_configs f on f.workspace_id = home.workspace_id
        where l.workspace_id = home.workspace_id and l.id = any(home.lines);
    end loop;
  end $$`;

/** `buffer_drips` names the workspaces in each of its queries: a join alone does not say which nodes have them. */
const BUFFER_DRIPS = `
  do $$
  declare
    function regprocedure := (select oid from pg_proc where proname = 'buffer_drips');
    definition text := pg_get_functiondef(function);
    joins text[] := array['c.fingerprint = decode(d.fingerprint, ''hex'')', 'w.workflow_id = drainer || f.id'];
    conditions text[] := array['c.workspace_id = any(of_batch)', 'w.workspace_id = any(filled)'];
  begin
    if strpos(definition, 'of_batch') > 0 then return; end if;
    for n in 1 .. 2 loop
      if strpos(definition, joins[n]) = 0 then raise 'buffer_drips has no %', joins[n]; end if;
      definition := replace(definition, joins[n], joins[n] || ' and ' || conditions[n]);
    end loop;
    execute replace(definition, 'filled text[];', 'filled text[];
      of_batch text[] := array(select distinct d.workspace_id from jsonb_to_recordset(batch) as d (workspace_id text));');
  end $$`;

/** Functions that run on nodes take no generic plans. */
const GENERIC_PLANS = `
  do $$
  declare
    function regprocedure;
  begin
    for function in select oid from pg_proc where array_to_string(proconfig, ' ') ~ 'plan_cache_mode=' loop
      execute format('alter function %s reset plan_cache_mode', function);
    end loop;
  end $$`;

/** Partitions are created and dropped through one connection to each node: several would wait for each other's locks. */
const KEEP_PARTITIONS = `alter function keep_partitions set citus.multi_shard_modify_mode = 'sequential'`;

/** The policy of `intake_table`, without the subquery that nodes refuse. */
const INTAKE_POLICIES = `
  do $$
  declare
    of_table regclass;
  begin
    for of_table in select polrelid from pg_policy where polname = 'intake' and pg_get_expr(polqual, polrelid) ~* 'select' loop
      execute format('drop policy intake on %s', of_table);
      execute format('create policy intake on %s as restrictive to linepace_system
        using (intake_workspaces() is null or workspace_id = any (intake_workspaces()))', of_table);
    end loop;
  end $$`;

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
 * Run on the node that has the workspace: `erase_consents` as its owner, who sees only there what a transaction has changed,
 * `publish_events`, whose snapshots are those of the node, and `buffer_drips_on_node`, which is not forced: it has several workspaces.
 */
const FUNCTIONS_ON_NODES = `
  select create_distributed_function('erase_consents(text, text[])', 'of_workspace', 'consents', force_delegation => true),
    create_distributed_function('publish_events(text)', 'of_workspace', 'event_publications', force_delegation => true),
    create_distributed_function('buffer_drips_on_node(text, jsonb, text, timestamptz, text, text)', 'of_workspace', 'drip_buffer')`;

async function prepareObjects(client: pg.Client): Promise<void> {
  await client.query(SET_LOCAL);
  await client.query(TRANSACTION_OF_NODE);
  await client.query(ON_EMITTED_EVENTS);
  await client.query(REQUESTED_ON_NODE);
  await client.query(ON_WORKFLOW_WAKES);
  await client.query(NODE_OF);
  await client.query(PUBLICATIONS_OF);
  await client.query(STRANDED_QUEUES);
  await client.query(OVERDUE_WAKES);
  await client.query(ON_EACH_SHARD);
  await client.query(RECORD_HEALTHY);
  await client.query(CALLBACK_LINES);
  await client.query(BUFFER_DRIPS);
  await client.query(GENERIC_PLANS);
  await client.query(KEEP_PARTITIONS);
  await client.query(NOTIFY_CREDENTIALS);
  await client.query(INTAKE_POLICIES);
  // Nodes connect to one another as the role whose function reads. It has no password, so nobody else can.
  await client.query('alter role linepace_definer login');
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
