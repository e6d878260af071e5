import { NO_QUIET_HOURS } from '#domain/sending/quiet-hours.ts';
import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { acceptMessages } from '#db/commands/messages/accept-messages.ts';
import { enterLeads, nextLeads } from '#db/commands/campaigns/campaign-entry.ts';
import { deferEvent, receiveReceipts, takeDeferredEvents } from '#db/commands/inbox/carrier-events.ts';
import { deleteChunk } from '#db/commands/contacts/list-deletion.ts';
import { insertCampaign } from '#db/queries/campaigns/campaigns.ts';
import { insertLeads } from '#db/queries/contacts/leads.ts';
import { insertList, lockList } from '#db/queries/contacts/lists.ts';
import { startSending } from '#db/queries/sending/sends.ts';
import { CampaignInput } from '#domain/campaigns/campaign.ts';
import { newId } from '#domain/base/ids.ts';
import { normalizeLead } from '#domain/contacts/lead.ts';
import { acceptedMessageOf, type IntakeContext } from '#domain/messages/accepted-message.ts';
import { connected } from '#db/connection/connected.ts';
import { analyze } from '#test/setup/database.ts';
import { entriesRead } from '#test/support/entries-read.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());

const Count = z.object({ count: z.int() });

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
  const read = await entriesRead(app, 'messages', workspaceId, async (db) => {
    for (const lookup of lookups)
      await db.oneFirst(sql.type(Count)`
        select count(trace_id)::int "count" from messages where workspace_id = ${workspaceId} and ${lookup}`);
  });
  expect(read).toBe(4);
});

test('messages are claimed without reading the others that wait, while statistics have few that do', async () => {
  const { id: workspaceId } = await createWorkspace(app);
  const ids = Array.from({ length: 16 }, (_, n) => String(n + 1).padStart(24, '0'));
  await connected(app.ownerUrl, async (owner) => {
    await owner.query('alter table messages set (autovacuum_enabled = off)');
    const insert = (status: string, from: number, to: number) =>
      owner.query(
        `insert into messages (workspace_id, id, channel, status, line_id, address, scheduled_at, source)
         select $1, lpad(n::text, 24, '0'), 'imessage', $2, lpad('1', 24, '0'), '+1' || (2000000000 + n), now(), 'api'
         from generate_series($3::int, $4::int) n`,
        [workspaceId, status, from, to],
      );
    await insert('delivered', 10_001, 12_000);
    await analyze(owner, 'messages');
    await insert('pending', 1, 2000);
  });
  const read = await entriesRead(app, 'messages', workspaceId, async (db) => {
    await db.query(sql.unsafe`select set_config('plan_cache_mode', 'force_generic_plan', true)`);
    expect(await startSending(db, ids)).toHaveLength(16);
  });
  expect(read).toBe(32);
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
  const read = await entriesRead(app, 'carrier_events', workspaceId, async (db) => {
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
  const read = await entriesRead(app, 'list_addresses', second.id, (db) =>
    deleteChunk(db, listId, new Date()),
  );
  expect(read).toBeLessThan(50_000);
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
    return { campaign, ...(await nextLeads(db, campaign, 500, new Date())) };
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
    quiet: { workspace: NO_QUIET_HOURS, campaigns: new Map() },
    placeOf: () => ({ zones: null, region: null }),
    country: 'US',
    leads: new Map(),
    zones: new Map(),
    answersUntil: new Map(),
    pools: new Map(),
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
      return acceptedMessageOf(input, context, { now, source: 'api', schedule: now, userId: null });
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
