import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type TenantDb, withTenant } from '#db/transactions.ts';
import { planSends } from '#activities/send-plan.ts';
import { workAside } from '#db/queries/queue.ts';
import { acceptMessages } from '#db/commands/sending/accept-messages.ts';
import { enterLeads, nextLeads } from '#db/commands/campaigns/campaign-entry.ts';
import { deferEvent, receiveReceipts, takeDeferredEvents } from '#db/commands/inbound/carrier-events.ts';
import { deleteChunk } from '#db/commands/contacts/list-deletion.ts';
import { insertCampaign } from '#db/queries/campaigns.ts';
import { insertLeads } from '#db/queries/leads.ts';
import { insertList, lockList } from '#db/queries/lists.ts';
import { listMessages } from '#db/queries/messages.ts';
import { CampaignInput } from '#domain/campaign.ts';
import { newId } from '#domain/ids.ts';
import { normalizeLead } from '#domain/lead.ts';
import { draftMessage, type IntakeContext } from '#domain/message-draft.ts';
import { analyze, connected } from '#test/setup/database.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());

const Count = z.object({ count: z.int() });

/** @returns how many entries of the indexes of a table and its partitions `work` reads. */
const entriesRead = (
  table: string,
  workspaceId: string,
  work: (db: TenantDb) => Promise<unknown>,
): Promise<number> =>
  withTenant(app.pools, workspaceId, async (db) => {
    // Of the connection, which may have more to report than this transaction.
    const entries = () =>
      db.oneFirst(sql.type(Count)`
        select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int count from pg_index
        where indrelid = ${table}::regclass or indrelid in (select relid from pg_partition_tree(${table}::regclass))`);
    const before = await entries();
    await work(db);
    return (await entries()) - before;
  });

test('messages of a status are found by its index even when none has it any more', async () => {
  const workspace = await createWorkspace(app);
  await connected(app.ownerUrl, async (owner) => {
    const scans = async (): Promise<number> => {
      const { rows } = await owner.query(
        `select idx_scan from pg_stat_user_indexes where indexrelname = 'messages_status'`,
      );
      return Number(rows[0].idx_scan);
    };
    await owner.query('alter table messages set (autovacuum_enabled = off)');
    await owner.query(
      `insert into messages (workspace_id, id, channel, status, address, scheduled_at, source)
       select $1, lpad(to_hex(n), 24, '0'), 'imessage', 'pending', '+14155550100', now(), 'api' from generate_series(1, 20000) n`,
      [workspace.id],
    );
    // From here on the planner considers `pending` common, and might scan the newest messages for it.
    await analyze(owner, 'messages');
    await owner.query(`update messages set status = 'canceled' where workspace_id = $1`, [workspace.id]);
    const before = await scans();
    const { status, body } = await apiClient(app.url, workspace.key)('GET', '/api/messages?status=pending');
    expect([status, body.messages]).toEqual([200, []]);
    await eventually(async () => (await scans()) > before);
  });
});

test('a workspace that is newer than the statistics finds its messages without reading the others', async () => {
  const [first, { id: workspaceId }] = [await createWorkspace(app), await createWorkspace(app)];
  await connected(app.ownerUrl, async (owner) => {
    await owner.query('alter table messages set (autovacuum_enabled = off)');
    const insert = (id: string, messages: number) =>
      owner.query(
        `insert into messages (workspace_id, id, channel, status, line_id, address, scheduled_at, source)
         select $1, lpad(to_hex(n), 24, '0'), 'imessage', 'sending', lpad('1', 24, '0'), '+1' || (2000000000 + n), now(), 'api'
         from generate_series(1, $2::int) n`,
        [id, messages],
      );
    await owner.query('delete from messages');
    await owner.query('vacuum messages');
    await insert(first.id, 5);
    await analyze(owner, 'messages');
    await insert(workspaceId, 20_000);
  });
  const ids = sql.array(
    ['1', '2', '3'].map((id) => id.padStart(24, '0')),
    'text',
  );
  const lookups = [sql.fragment`id = any(${ids})`, sql.fragment`address = '+12000000001'`];
  const read = await entriesRead('messages', workspaceId, async (db) => {
    for (const lookup of lookups)
      await db.oneFirst(sql.type(Count)`
        select count(trace_id)::int "count" from messages where workspace_id = ${workspaceId} and ${lookup}`);
  });
  expect(read).toBe(4);
});

test('early receipts of a workspace that is newer than the statistics are kept and taken without reading the others', async () => {
  const [first, { id: workspaceId }] = [await createWorkspace(app), await createWorkspace(app)];
  await connected(app.ownerUrl, async (owner) => {
    const insert = (id: string, events: number) =>
      owner.query(
        `insert into carrier_events (workspace_id, line_id, event_id)
         select $1, lpad((n % 100)::text, 24, '0'), 'event ' || n from generate_series(1, $2::int) n`,
        [id, events],
      );
    await insert(first.id, 5);
    await analyze(owner, 'carrier_events');
    await insert(workspaceId, 5000);
  });
  const receipts = Array.from({ length: 16 }, (_, n) => ({
    lineId: String(n).padStart(24, '0'),
    event: {
      kind: 'receipt' as const,
      eventId: `early ${n}`,
      carrierMessageId: `carrier ${n}`,
      status: 'delivered' as const,
      at: new Date(),
    },
  }));
  const messages = receipts.map(({ lineId, event }) => ({
    lineId,
    carrierMessageId: event.carrierMessageId,
  }));
  const read = await entriesRead('carrier_events', workspaceId, async (db) => {
    await receiveReceipts(db, receipts);
    expect(await takeDeferredEvents(db, messages)).toHaveLength(16);
    for (const receipt of receipts) await deferEvent(db, receipt);
    expect(await takeDeferredEvents(db, messages)).toHaveLength(16);
    expect(await takeDeferredEvents(db, messages)).toEqual([]);
  });
  expect(read).toBeLessThan(500);
});

test('a list of a workspace that is newer than the statistics is deleted without reading it for each lead', async () => {
  const [first, second] = [await createWorkspace(app), await createWorkspace(app)];
  const listId = newId();
  await connected(app.ownerUrl, async (owner) => {
    const insert = async (id: string, leads: number) => {
      await owner.query(`insert into lead_lists (workspace_id, id, name) values ($1, $2, 'Many')`, [
        id,
        listId,
      ]);
      await owner.query(
        `insert into leads (workspace_id, id, list_id, phones)
         select $1, lpad(to_hex(n), 24, '0'), $2, array['+1415' || (5000000 + n)] from generate_series(1, $3::int) n`,
        [id, listId, leads],
      );
      await owner.query(
        `insert into list_addresses (workspace_id, list_id, address, lead_id)
         select workspace_id, list_id, phones[1], id from leads where workspace_id = $1`,
        [id],
      );
    };
    await owner.query('alter table leads set (autovacuum_enabled = off)');
    await owner.query('alter table list_addresses set (autovacuum_enabled = off)');
    await insert(first.id, 1000);
    await analyze(owner, 'leads, list_addresses');
    await insert(second.id, 5000);
  });
  const read = await entriesRead('list_addresses', second.id, (db) => deleteChunk(db, listId, new Date()));
  expect(read).toBeLessThan(50_000);
});

test('the failed messages of a line or a campaign are found without reading the others', async () => {
  const { id: workspaceId } = await createWorkspace(app);
  const [lineId, campaignId] = [newId(), newId()];
  await connected(app.ownerUrl, async (owner) => {
    await owner.query(
      `insert into messages (workspace_id, id, channel, status, line_id, campaign_id, address, scheduled_at, source)
       select $1, lpad(to_hex(n), 24, '0'), 'imessage', case when n <= 3 then 'failed' else 'delivered' end, $2, $3, '+14155550100', now(), 'api'
       from generate_series(1, 20000) n`,
      [workspaceId, lineId, campaignId],
    );
    await analyze(owner, 'messages');
  });
  for (const filter of [{ lineId }, { campaignId }]) {
    const read = await entriesRead('messages', workspaceId, async (db) => {
      expect(await listMessages(db, { ...filter, status: 'failed' }, { limit: 50 })).toHaveLength(3);
    });
    expect(read).toBe(3);
  }
});

test('a line with many due messages finds those forced to SMS without reading the others', async () => {
  const workspace = await createWorkspace(app);
  const [lineId, forced] = [newId(), newId()];
  await connected(app.ownerUrl, async (owner) => {
    await owner.query(
      `insert into messages (workspace_id, id, channel, status, line_id, address, scheduled_at, source, force_fallback)
       select $1, lpad(to_hex(n), 24, '0'), 'imessage', 'pending', $2, '+14155550100', now(), 'api', false from generate_series(1, 20000) n
       union all select $1, $3, 'imessage', 'pending', $2, '+14155550100', now(), 'api', true`,
      [workspace.id, lineId, forced],
    );
    await analyze(owner, 'messages');
    const scans = async (): Promise<number> => {
      const { rows } = await owner.query(
        `select idx_tup_read from pg_stat_user_indexes where indexrelname = 'messages_forced'`,
      );
      return Number(rows[0].idx_tup_read);
    };
    const before = await scans();
    expect(
      await withTenant(app.pools, workspace.id, (db) =>
        workAside(db, lineId, { now: new Date(), voiceNotesUntil: new Date() }),
      ),
    ).toEqual({ forced: [forced], nextForcedAt: null, owed: [], hasVoiceNotes: false });
    await eventually(async () => (await scans()) === before + 1);
  });
});

test('leads enter a campaign without reading the conversations of other contacts, while statistics lag behind', async () => {
  const { id: workspaceId } = await createWorkspace(app);
  await createLine(app, workspaceId);
  const { campaign, leads } = await withTenant(app.pools, workspaceId, async (db) => {
    const list = await insertList(db, { name: 'Many', description: '', userId: null });
    await lockList(db, list.id);
    const many = Array.from({ length: 500 }, (_, n) => ({ phone: `+1415555${String(n).padStart(4, '0')}` }));
    const normalized = many.map((input) => normalizeLead(input, { country: 'US' }).lead);
    await insertLeads(db, list.id, normalized, { source: null, now: new Date() });
    const input = { name: 'Many', listId: list.id, steps: [{ message: 'One' }, { message: 'Two' }] };
    const campaign = await insertCampaign(db, CampaignInput.parse(input), null, new Date());
    return { campaign, leads: await nextLeads(db, campaign, 500) };
  });
  await connected(app.ownerUrl, async (owner) => {
    await owner.query('alter table conversations set (autovacuum_enabled = off)');
    await owner.query(
      `insert into conversations (workspace_id, address) select $1, '+1212' || (2000000 + n) from generate_series(1, 20000) n`,
      [workspaceId],
    );
    const reads = async (): Promise<number> => {
      const { rows } = await owner.query(
        `select seq_tup_read + idx_tup_fetch reads from pg_stat_user_tables where relname = 'conversations'`,
      );
      return Number(rows[0].reads);
    };
    const before = await reads();
    await withTenant(app.pools, workspaceId, (db) => enterLeads(db, campaign, leads, new Date()));
    // Each conversation is created, and looked up once: connections report what they have read within a second.
    const after = await eventually(async () => {
      const now = await reads();
      return now > before && now;
    });
    expect(after - before).toBeLessThan(2000);
  });
});

test('messages are accepted without reading the conversations of other contacts, with plans made when there were few', async () => {
  const { id: workspaceId } = await createWorkspace(app);
  const lineId = await createLine(app, workspaceId);
  const now = new Date();
  const context: IntakeContext = {
    timezone: 'UTC',
    country: 'US',
    leads: new Map(),
    lines: [{ id: lineId, channel: 'imessage', usable: true }],
    fallbackConfigured: false,
    ownAttachments: new Set(),
  };
  let contacts = 0;
  const accept = (db: TenantDb) => {
    const drafts = Array.from({ length: 50 }, () => {
      const input = {
        recipientPhone: `+1415555${String((contacts += 1)).padStart(4, '0')}`,
        message: 'Hello',
      };
      return draftMessage(input, context, { now, source: 'api', schedule: now, userId: null });
    });
    return acceptMessages(db, drafts, now);
  };
  const read = await withTenant(
    app.pools,
    workspaceId,
    async (db) => {
      // Statements are prepared when they are repeated.
      for (let times = 0; times < 3; times += 1) await accept(db);
      await db.query(sql.type(z.unknown())`
        insert into conversations (workspace_id, address) select ${workspaceId}, '+1212' || (2000000 + n) from generate_series(1, 20000) n`);
      const reads = () =>
        db.oneFirst(sql.type(Count)`
          select (seq_tup_read + idx_tup_fetch)::int count from pg_stat_xact_user_tables where relname = 'conversations'`);
      const before = await reads();
      await accept(db);
      return (await reads()) - before;
    },
    { genericPlans: true },
  );
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThan(500);
});

test('a line with 50,000 due messages reads only those it may send, and a reached cap writes one row', async () => {
  const { id: workspaceId } = await createWorkspace(app);
  const lineId = await createLine(app, workspaceId, 'imessage', { hourly_new_limit: 3 });
  await connected(app.ownerUrl, async (owner) => {
    const campaignId = newId();
    await owner.query(
      `insert into campaigns (workspace_id, id, name, status, steps) values ($1, $2, 'Paused', 'paused', '[]')`,
      [workspaceId, campaignId],
    );
    // A third waits for a paused campaign, a third for the evening.
    await owner.query(
      `insert into messages (workspace_id, id, channel, status, line_id, address, recipient_phone, scheduled_at, source, campaign_id,
         window_timezone, window_start, window_end)
       select $1, 'a' || lpad(to_hex(n), 23, '0'), 'imessage', 'pending', $2, '+1' || (2000000000 + n), '+1' || (2000000000 + n),
         '2026-06-10T11:30:00Z', 'api', case n % 3 when 0 then $3 end,
         case n % 3 when 1 then 'UTC' end, case n % 3 when 1 then '23:00' end, case n % 3 when 1 then '23:01' end
       from generate_series(1, 50000) n`,
      [workspaceId, lineId, campaignId],
    );
    await owner.query('vacuum messages');
    await analyze(owner, 'messages');
  });
  const Work = z.object({ messagesRead: z.int(), messagesWritten: z.int(), linesWritten: z.int() });
  const now = new Date('2026-06-10T12:30:00Z');
  /** Plans once. @returns what the plan sends, reads and writes. */
  const plan = () =>
    withTenant(
      app.pools,
      workspaceId,
      async (db) => {
        // These statistics cover the connection's latest transactions.
        const work = () =>
          db.one(sql.type(Work)`
          select (sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) filter (where relname = 'messages'))::int messages_read,
            (sum(n_tup_upd) filter (where relname = 'messages'))::int messages_written,
            (sum(n_tup_upd) filter (where relname = 'lines'))::int lines_written
          from pg_stat_xact_user_tables`);
        const before = await work();
        const found = await planSends(db, lineId, 20_000, now);
        const after = await work();
        return {
          sent: found?.claims.length,
          until: found?.nextAt?.toISOString(),
          messagesRead: after.messagesRead - before.messagesRead,
          messagesWritten: after.messagesWritten - before.messagesWritten,
          linesWritten: after.linesWritten - before.linesWritten,
        };
      },
      { genericPlans: true },
    );
  const few = { asymmetricMatch: (count: number) => count < 100 };
  expect(await plan()).toEqual({
    sent: 3,
    until: now.toISOString(),
    messagesRead: few,
    messagesWritten: 3,
    linesWritten: 1,
  });
  const waiting = {
    sent: 0,
    until: '2026-06-10T13:00:00.000Z',
    messagesRead: few,
    messagesWritten: 0,
  };
  expect(await plan()).toEqual({ ...waiting, linesWritten: 0 });
});

test('attempts past their retention are found by an index', async () => {
  await connected(app.ownerUrl, async (owner) => {
    await owner.query(`insert into workspaces (id, name) values ('org_plans', 'Plans')`);
    await owner.query(
      `insert into attempts (workspace_id, id, message_id, line_id, kind, channel, carrier, address, is_new, started_at, answer_by, outcome)
       select 'org_plans', lpad(to_hex(n), 24, '0'), lpad('1', 24, '0'), lpad('1', 24, '0'), 'primary', 'imessage', 'simulated', '+14155550100',
         false, now() - (420 - n / 500) * interval '1 day', now(), 'accepted' from generate_series(1, 200000) n`,
    );
    await owner.query('vacuum analyze attempts');
    const { rows } = await owner.query(
      `explain select ctid from attempts where started_at < now() - interval '400 days' limit 5000`,
    );
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toMatch('Bitmap Index Scan on attempts_age');
  });
});

test.each(['zqx', 'zq'])('a search without results (%s) reads the newest leads only', async (search) => {
  const workspace = await createWorkspace(app);
  const api = apiClient(app.url, workspace.key);
  const { body } = await api('POST', '/api/lists', { name: 'Many' });
  await connected(app.ownerUrl, async (owner) => {
    await owner.query(
      `insert into leads (workspace_id, id, list_id, first_name)
       select $1, lpad(to_hex(n), 24, '0'), $2, 'Person ' || n from generate_series(1, 20000) n`,
      [workspace.id, body.list._id],
    );
    await analyze(owner, 'leads');
    const fetched = async (): Promise<number> => {
      const { rows } = await owner.query(
        `select idx_tup_fetch + seq_tup_read read from pg_stat_user_tables where relname = 'leads'`,
      );
      return Number(rows[0].read);
    };
    const before = await fetched();
    const found = await api('GET', `/api/leads?search=${search}`);
    expect([found.status, found.body.leads]).toEqual([200, []]);
    await eventually(async () => (await fetched()) > before);
    expect((await fetched()) - before).toBeLessThan(5000);
    // Frequent matches are found among the newest leads.
    expect((await api('GET', '/api/leads?search=per&limit=5')).body.leads).toHaveLength(5);
  });
});

test('metrics are counted in the database once, however often they are requested', async () => {
  const counts = () =>
    connected(app.ownerUrl, async (owner) => {
      const { rows } = await owner.query(
        `select seq_scan + idx_scan scans from pg_stat_user_tables where relname = 'unreadable_inbound'`,
      );
      return Number(rows[0].scans);
    });
  const before = await counts();
  for (let times = 0; times < 20; times += 1) expect((await fetch(`${app.url}/metrics`)).status).toBe(200);
  await eventually(async () => (await counts()) > before);
  expect((await counts()) - before).toBeLessThanOrEqual(2);
});
