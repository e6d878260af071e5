import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { distribute } from '#db/distribution/distribute.ts';
import { moveWorkspace, nodeOfWorkspace } from '#db/distribution/move-workspace.ts';
import { publishAllEvents } from '#db/commands/events/publish-events.ts';
import { createPools } from '#db/connection/pools.ts';
import { recordHealthy } from '#db/queries/lines/line-probes.ts';
import { trimAged } from '#db/queries/operations/retention.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { firstId } from '#domain/base/ids.ts';
import { DEFAULT_RETENTION } from '#domain/base/retention.ts';
import { connected } from '#db/connection/connected.ts';
import { eventually } from '#test/support/app.ts';
import { createTestDatabase, type TestDatabase } from '#test/setup/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const isCluster = inject('clusterNodes').length > 0;

describe.skipIf(isCluster)('migrate --distribute, without the extension', () => {
  it('says what is missing, and changes nothing', async () => {
    await expect(distribute(database.ownerUrl)).rejects.toThrow('it has no extension citus');
    const { rows } = await connected(database.ownerUrl, (client) =>
      client.query(
        `select from pg_proc p join pg_language l on l.oid = p.prolang where proname = 'set_local' and lanname = 'plpgsql'`,
      ),
    );
    expect(rows).toEqual([]);
    await expect(moveWorkspace(database.ownerUrl, 'org_1', 'localhost:5432')).rejects.toThrow(
      'not distributed',
    );
  });
});

/** With `TEST_CITUS`. */
describe.runIf(isCluster)('a distributed database', () => {
  const ask = async (statement: string) =>
    (await connected(database.ownerUrl, (client) => client.query<{ name: string }>(statement))).rows.map(
      ({ name }) => name,
    );

  it('is not distributed again', async () => {
    expect(await distribute(database.ownerUrl)).toEqual([]);
  });

  it('has every table of workspaces on its nodes', async () => {
    expect(
      await ask(`
        select relname as name from pg_class c
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
          and exists (select from pg_policy where polrelid = c.oid and polname = 'tenant')
          and not exists (select from pg_dist_partition where logicalrelid = c.oid and (partmethod = 'h' or repmodel = 't'))
        order by 1`),
    ).toEqual([]);
  });

  it('keeps the rows of a workspace together, and joins them by its foreign keys', async () => {
    expect(
      await ask(`select distinct colocationid::text as name from pg_dist_partition where partmethod = 'h'`),
    ).toHaveLength(1);
    expect(
      await ask(`select count(*)::text as name from pg_constraint where contype = 'f' and conparentid = 0
        and conrelid in (select logicalrelid from pg_dist_partition where partmethod = 'h')`),
    ).not.toEqual(['0']);
  });

  it('makes the partitions of new days on each node', async () => {
    await ask(`select keep_partitions('webhook_deliveries', 9, 30)::text as name`);
    expect(
      await ask(`
        select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'webhook_deliveries'::regclass
          and not exists (select from pg_dist_partition where logicalrelid = c.oid)`),
    ).toEqual([]);
  });

  it('shows a tenant the rows of its workspace only, on whichever node they are', async () => {
    await ask(`
      insert into workspaces (id, name, timezone, country, plan, subscription_status)
      select 'org_' || n, 'Workspace', 'UTC', 'US', 'mini', 'active' from generate_series(1, 8) n returning id as name`);
    await ask(`
      insert into workflow_wakes (workspace_id, workflow_id, wake_at, sweep_at, requested_by, lowered_by)
      select 'org_' || n, 'w', now(), now(), '1', '1' from generate_series(1, 8) n returning workspace_id as name`);
    const seen = await connected(
      Object.assign(new URL(database.tenantUrl), { pathname: new URL(database.ownerUrl).pathname }).href,
      async (client) => {
        await client.query('begin');
        await client.query(`select set_local('lock_timeout', '2000'), enter_workspace('org_3')`);
        const { rows } = await client.query<{ id: string }>('select workspace_id as id from workflow_wakes');
        await client.query('commit');
        return rows.map(({ id }) => id);
      },
    );
    expect(seen).toEqual(['org_3']);
  });

  it('records healthy lines, and deletes what has expired, on whichever node they are', async () => {
    const pools = await createPools(database);
    try {
      await ask(`
        insert into lines (workspace_id, id, channel, provisioning_status, carrier, daily_total_limit, daily_new_limit, min_gap_seconds,
          contact_gap_seconds)
        select 'org_' || n, lpad(n::text, 24, '0'), 'sms', 'active', 'simulated', 1, 1, 1, 1 from generate_series(1, 8) n
        returning id as name`);
      const lines = Array.from({ length: 8 }, (_, n) => ({
        workspaceId: `org_${n + 1}`,
        id: String(n + 1).padStart(24, '0'),
        at: new Date(),
      }));
      expect([...(await recordHealthy(systemDb(pools), lines))].toSorted()).toEqual(
        lines.map(({ id }) => id),
      );
      await ask(`
        insert into unreadable_inbound (workspace_id, line_id, reference, reason, created_at)
        select 'org_' || n, lpad(n::text, 24, '0'), 'old', 'size', now() - interval '9 years' from generate_series(1, 8) n
        returning line_id as name`);
      await ask(`
        insert into attempts (workspace_id, id, message_id, line_id, kind, channel, carrier, address, is_new, started_at, answer_by, outcome)
        select 'org_' || n, lpad(n::text, 24, '0'), repeat('0', 24), repeat('0', 24), 'primary', 'sms', 'simulated', '+1', true, '2001-01-01', '2001-01-01',
          'accepted' from generate_series(1, 8) n
        returning id as name`);
      expect(await trimAged(systemDb(pools), DEFAULT_RETENTION, () => true)).toBe(16);
    } finally {
      await pools.close();
    }
  });

  it('stores bulk intake on the node of its workspaces, whose transactions its wakes name', async () => {
    const ids = Array.from({ length: 8 }, (_, n) => `org_${n + 1}`);
    const nodesOf = (id: string) =>
      ask(
        `select nodename || ':' || nodeport as name from pg_dist_node where groupid = node_of('${id}') order by 1`,
      );
    expect((await Promise.all(ids.map(nodesOf))).flat()).toEqual(
      await Promise.all(ids.map((id) => nodeOfWorkspace(database.ownerUrl, id))),
    );

    const call = (workspaceIds: string[], digit: string, then: string): string => {
      const batch = workspaceIds.map((workspaceId, n) => ({
        n,
        workspace_id: workspaceId,
        id: digit.repeat(23) + n,
        fingerprint: digit.repeat(31) + n,
        scheduled_at: '2027-01-01T00:00:00Z',
        jitter_ms: 0,
        draft: {},
      }));
      return `'${JSON.stringify(batch)}', 'drainer:', '2027-01-01T00:00:00Z', 'dripsBuffered', ${then}`;
    };
    await connected(database.systemUrl, async (client) => {
      await client.query(`select * from buffer_drips(${call(['org_1'], 'a', `'org_1'`)})`);
      await client.query('begin');
      await client.query(`select set_local('app.intake_workspaces', '${ids.join(',')}')`);
      await client.query(`select * from buffer_drips(${call(ids, 'b', 'null')})`);
      await client.query('commit');
    });
    const woken = await ask(`
      select result as name from run_command_on_shards('workflow_wakes', $$
        select string_agg(workspace_id, ',') from %s
        where starts_with(workflow_id, 'drainer:') and requested_by::text = xmin::text and lowered_by = requested_by
      $$) where result <> ''`);
    expect(woken.flatMap((names) => names.split(',')).toSorted()).toEqual(ids);
    expect(await ask(`select count(*)::text as name from drip_buffer`)).toEqual(['9']);
  });

  it('moves a workspace to another node, where its workflows look again and its events keep their order', async () => {
    const place = (workspaceId: string) => nodeOfWorkspace(database.ownerUrl, workspaceId);
    const wakes = () =>
      ask(
        `select distinct workspace_id as name from workflow_wakes where requested_by = '0' and sweep_at <= now() order by 1`,
      );
    const others = ['org_1', 'org_2', 'org_4', 'org_5', 'org_6', 'org_7', 'org_8'];
    const placesOfOthers = await Promise.all(others.map(place));
    const from = await place('org_3');
    const nodes = await ask(
      `select nodename || ':' || nodeport as name from pg_dist_node where shouldhaveshards order by 1`,
    );
    const to = nodes.find((node) => node !== from) ?? '';

    await expect(moveWorkspace(database.ownerUrl, 'org_9', to)).rejects.toThrow(
      'There is no workspace org_9.',
    );
    await expect(moveWorkspace(database.ownerUrl, 'org_3', 'nowhere:1')).rejects.toThrow(
      'The cluster has no node at nowhere:1',
    );
    expect(await wakes()).toEqual([]);
    const emit = async (digit: number): Promise<void> => {
      const id = firstId(new Date()).slice(0, 23) + digit;
      await ask(
        `insert into emitted_events (workspace_id, id) values ('org_3', '${id}') returning id as name`,
      );
    };
    const publish = async (): Promise<void> => {
      const pools = await createPools(database);
      await publishAllEvents(pools, () => true).finally(() => pools.close());
    };
    await emit(9);
    await publish();
    await emit(8);
    await moveWorkspace(database.ownerUrl, 'org_3', to);
    // A move that was interrupted can be repeated.
    await moveWorkspace(database.ownerUrl, 'org_3', to);
    expect(await place('org_3')).toBe(to);
    expect(await wakes()).toEqual(['org_3']);
    expect(await Promise.all(others.map(place))).toEqual(placesOfOthers);
    expect(await ask(`select id as name from lines where workspace_id = 'org_3'`)).toEqual([
      '3'.padStart(24, '0'),
    ]);
    await publish();
    await emit(7);
    // Back again, with an event that was emitted there and is not published.
    await moveWorkspace(database.ownerUrl, 'org_3', from);
    await publish();
    await emit(6);
    await publish();
    expect(
      await ask(
        `select right(id, 1) as name from published_events where workspace_id = 'org_3' order by position`,
      ),
    ).toEqual(['9', '8', '7', '6']);
  });

  it('moves a workspace although the move gets into a deadlock with a transaction that writes to it', async () => {
    const movesThatWait = () =>
      ask(
        `select query as name from pg_stat_activity where wait_event_type = 'Lock' and query ~ '^select (isolate|citus_move)'`,
      );
    expect(
      await ask(`select deadlocks::text as name from pg_stat_database where datname = current_database()`),
    ).toEqual(['0']);
    const from = await nodeOfWorkspace(database.ownerUrl, 'org_5');
    const [to = ''] = await ask(
      `select nodename || ':' || nodeport as name from pg_dist_node where shouldhaveshards and nodename || ':' || nodeport <> '${from}'`,
    );
    await connected(database.ownerUrl, async (writer) => {
      // The move finds the deadlock first, so it is canceled.
      await writer.query(`set deadlock_timeout = '60s'`);
      await writer.query('begin');
      await writer.query(`update workspaces set name = 'Renamed' where id = 'org_5'`);
      const writeAndCommit = async (): Promise<void> => {
        await eventually(async () => (await movesThatWait()).length > 0);
        await writer.query(`update lines set failed_probes = 1 where workspace_id = 'org_5'`);
        await writer.query('commit');
      };
      await Promise.all([moveWorkspace(database.ownerUrl, 'org_5', to), writeAndCommit()]);
    });
    expect(await nodeOfWorkspace(database.ownerUrl, 'org_5')).toBe(to);
    expect(await ask(`select failed_probes::text as name from lines where workspace_id = 'org_5'`)).toEqual([
      '1',
    ]);
    // This deadlock is intended. Others fail the run.
    await ask(`select pg_stat_reset()::text as name`);
  });
});
