import type pg from 'pg';
import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type SystemDb, type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { planSends } from '#db/commands/sending/send-plan.ts';
import { conditionsOf, countUnread } from '#db/queries/inbox/conversation-filters.ts';
import { listContactTimeline } from '#db/queries/inbox/contact-timeline.ts';
import { listConversations } from '#db/queries/inbox/conversations.ts';
import { campaignWaits } from '#db/queries/campaigns/campaign-waits.ts';
import {
  removeChunk,
  type QueuePosition,
  reassignChunk,
  strandedQueues,
} from '#db/commands/lines/line-reassignment.ts';
import { funnelCounts } from '#db/queries/campaigns/campaign-funnel.ts';
import { findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { leadsOfList } from '#db/queries/campaigns/audience.ts';
import { consentCoverage } from '#db/queries/contacts/consent-coverage.ts';
import { workOutsideQueue } from '#db/queries/sending/queue.ts';
import { listMessages, listSentMessages } from '#db/queries/messages/messages.ts';
import { MAX_SENT, sentCampaigns, sentMessages, sentSpan } from '#db/queries/messages/sent-messages.ts';
import type { ConversationFilters } from '#domain/inbox/conversation.ts';
import { newId } from '#domain/base/ids.ts';
import { connected } from '#db/connection/connected.ts';
import { analyze } from '#test/setup/database.ts';
import { explained } from '#test/support/explained.ts';
import { entriesRead } from '#test/support/entries-read.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { createAgency, createLine, createWorkspace } from '#test/support/factories.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());

/**
 * A connection that fills tables without triggers: those that check references, note each message for analytics, and put
 * those that wait into the queue of their line.
 */
const filling = (work: (owner: pg.Client) => Promise<unknown>): Promise<unknown> =>
  connected(app.ownerUrl, async (owner) => {
    await owner.query('set session_replication_role = replica');
    await work(owner);
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

test('the failed or canceled messages of a line or a campaign are found without reading the others, or those elsewhere', async () => {
  const { id: workspaceId } = await createWorkspace(app);
  const [lineId, campaignId, elsewhere] = [newId(), newId(), newId()];
  await filling(async (owner) => {
    await owner.query(
      `insert into messages (workspace_id, id, channel, status, line_id, campaign_id, address, scheduled_at, source)
       select $1, lpad(to_hex(n), 24, '0'), 'imessage',
         case when n <= 3 or n > 15000 then 'failed' when n <= 6 or n > 10000 then 'canceled' else 'delivered' end,
         case when n <= 10000 then $2 else $4 end, case when n <= 10000 then $3 else $4 end, '+14155550100', now(), 'api'
       from generate_series(1, 20000) n`,
      [workspaceId, lineId, campaignId, elsewhere],
    );
    await analyze(owner, 'messages');
  });
  for (const status of ['failed', 'canceled'] as const)
    for (const filter of [{ lineId }, { campaignId }]) {
      const read = await entriesRead(app, 'messages', workspaceId, async (db) => {
        expect(await listMessages(db, { ...filter, status }, { limit: 50 })).toHaveLength(3);
      });
      expect(read).toBe(3);
    }
});

test('the messages of a line in a campaign are found without reading what either has besides', async () => {
  const { id: workspaceId } = await createWorkspace(app);
  const [lineId, campaignId, elsewhere] = [newId(), newId(), newId()];
  await filling(async (owner) => {
    await owner.query(
      `insert into messages (workspace_id, id, channel, status, line_id, campaign_id, address, scheduled_at, source)
       select $1, lpad(to_hex(n), 24, '0'), 'imessage', case when n % 4 = 0 then 'sent' else 'delivered' end,
         case when n <= 20 or n % 2 = 0 then $2 else $4 end, case when n <= 20 or n % 2 = 1 then $3 else $4 end, '+14155550100', now(), 'api'
       from generate_series(1, 20000) n`,
      [workspaceId, lineId, campaignId, elsewhere],
    );
    await analyze(owner, 'messages');
  });
  for (const [filter, found, most] of [
    [{}, 20, 20],
    [{ status: 'delivered' }, 15, 20],
    [{ status: 'failed' }, 0, 20],
  ] as const) {
    const read = await entriesRead(app, 'messages', workspaceId, async (db) => {
      expect(await listMessages(db, { lineId, campaignId, ...filter }, { limit: 50 })).toHaveLength(found);
    });
    expect(read, JSON.stringify(filter)).toBeLessThanOrEqual(most);
  }
});

test('the latest messages that have left are found without reading the others', async () => {
  // With fewer, all in whose place an SMS was sent are read as cheaply.
  const { id: workspaceId } = await createWorkspace(app);
  await filling(async (owner) => {
    await owner.query(
      `insert into messages (workspace_id, id, channel, status, address, scheduled_at, source, updated_at, sent_at, fallback_sms)
       select $1, lpad(to_hex(n), 24, '0'), 'imessage', case when n % 10 = 0 then 'fallback' else 'delivered' end,
         '+14155550100', now(), 'api', now() - n * interval '1 second',
         case when n % 10 <> 0 then now() - n * interval '1 second' end,
         case when n % 10 = 0 then 'dispatched' end
       from generate_series(1, 60000) n`,
      [workspaceId],
    );
    await analyze(owner, 'messages');
  });
  const page = { limit: 50 };
  let cursor: string | undefined;
  for (let number = 0; number < 2; number++) {
    const read = await entriesRead(app, 'messages', workspaceId, async (db) => {
      const rows = await listSentMessages(db, {}, { ...page, cursor });
      expect(rows).toHaveLength(50);
      cursor = rows.at(-1)?.id;
    });
    expect(read).toBeLessThanOrEqual(110);
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
        workOutsideQueue(db, lineId, { now: new Date(), voiceNotesUntil: new Date() }),
      ),
    ).toEqual({
      smsOnly: [forced],
      nextSmsOnlyAt: null,
      fallbacksDue: [],
      nextFallbackAt: null,
      bubbles: [],
      nextBubbleAt: null,
      hasVoiceNotes: false,
      hasActions: false,
    });
    await eventually(async () => (await scans()) === before + 1);
  });
});

test('a line with 50,000 due messages reads only those it may send, and a reached cap writes one row', async () => {
  const { id: workspaceId } = await createWorkspace(app);
  const now = new Date('2026-06-10T12:30:00Z');
  const lineId = await createLine(app, workspaceId, 'imessage', {
    hourly_new_limit: 3,
    // Judged just now, so that the plan does not write that.
    reputation_checked_at: now,
  });
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
        const found = await planSends(db, lineId, 20_000, () => now);
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

test.each(['zqx', 'zq'])('a search without results (%s) reads the newest leads only', async (search) => {
  const workspace = await createWorkspace(app);
  const api = apiClient(app.url, workspace.key);
  const { body } = await api('POST', '/api/lists', { name: 'Many' });
  await filling(async (owner) => {
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
    expect((await fetched()) - before).toBeLessThan(15_000);
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

test('what the leads of a campaign wait for is read from one index, without the steps that were sent or are held', async () => {
  const { id: workspaceId } = await createWorkspace(app);
  const lineId = await createLine(app, workspaceId);
  const campaignId = newId();
  await connected(app.ownerUrl, async (owner) => {
    await owner.query(
      `insert into campaigns (workspace_id, id, name, steps, status) values ($1, $2, 'Spring', '[]', 'active')`,
      [workspaceId, campaignId],
    );
    await owner.query(
      `insert into messages (workspace_id, id, channel, status, hold_reason, held, line_id, campaign_id, address, scheduled_at, source)
       select $1, lpad(to_hex(n), 24, '0'), 'imessage', case when n % 4 = 0 then 'delivered' else 'scheduled' end,
         case when n % 4 > 1 then 'previous_step' end, n % 4 > 1, $2, $3, '+14155550100', now() + interval '1 day', 'campaign'
       from generate_series(1, 20000) n`,
      [workspaceId, lineId, campaignId],
    );
    await analyze(owner, 'messages');
  });
  const read = await entriesRead(app, 'messages', workspaceId, async (db) => {
    const campaign = await findCampaign(db, campaignId);
    expect(campaign && (await campaignWaits(db, campaign, new Date())).waits).toEqual([
      { reason: 'scheduled', leads: 5000, lines: 1 },
    ]);
  });
  expect(read).toBe(5000);
});

test('the funnel of a campaign with 100,000 leads is counted from indexes alone, in their order', async () => {
  const { id: workspaceId } = await createWorkspace(app);
  const campaignId = newId();
  await filling(async (owner) => {
    await owner.query(
      `insert into campaigns (workspace_id, id, name, steps, status) values ($1, $2, 'Spring', '[]', 'active')`,
      [workspaceId, campaignId],
    );
    // One in ten has not had its turn, one in a hundred failed.
    await owner.query(
      `insert into messages (workspace_id, id, channel, status, error_message, held, hold_reason, campaign_id, lead_id, step_index, variant, address,
         body, scheduled_at, sent_at, source)
       select $1, lpad(to_hex(n), 24, '0'), 'imessage', case when n % 10 = 0 then 'scheduled' when n % 100 = 1 then 'failed' else 'delivered' end,
         case when n % 200 = 1 then 'recipient_opted_out' when n % 100 = 1 then 'undeliverable' end,
         n % 10 = 0, case when n % 10 = 0 then 'previous_step' end, $2, lpad(to_hex(n), 24, '0'), 0, case when n % 2 = 0 then 'A' else 'B' end,
         '+1' || (2000000000 + n), repeat('A text. ', 40), now(), case when n % 10 > 0 then now() end, 'campaign'
       from generate_series(1, 100000) n`,
      [workspaceId, campaignId],
    );
    await owner.query(
      `insert into campaign_responses (workspace_id, campaign_id, message_id, kind, step_index, variant, responded_at)
       select $1, case when n % 25 = 1 then $2 else $3 end, lpad(to_hex(n), 24, '0'), 'reply', 0, 'A', now()
       from generate_series(1, 100000) n`,
      [workspaceId, campaignId, newId()],
    );
    // A transaction that began before may keep the first vacuum from marking most pages.
    await eventually(async () => {
      await owner.query('vacuum messages, campaign_responses');
      const { rows } = await owner.query(
        `select relallvisible > 0.9 * relpages marked from pg_class where relname = 'messages'`,
      );
      return rows[0].marked;
    });
    await analyze(owner, 'messages, campaign_responses');
  });
  const [untried, states, responses] = await explained(app, workspaceId, (db) =>
    funnelCounts(db, campaignId),
  );
  expect(states).toMatch(/Index Only Scan using messages_funnel/);
  expect(states).not.toMatch(/Sort/);
  expect(untried).toMatch(/messages_campaign_failed|messages_funnel/);
  expect(responses).toMatch(/campaign_responses_pkey/);
  const read = await entriesRead(app, 'messages', workspaceId, async (db) => {
    const counts = await funnelCounts(db, campaignId);
    const leads = (rows: readonly { leads: number }[]) => rows.reduce((sum, row) => sum + row.leads, 0);
    expect([counts.states, counts.untried, counts.responses].map(leads)).toEqual([100_000, 500, 4000]);
  });
  expect(read).toBeLessThanOrEqual(101_000);
});

test('the consent of 100,000 leads is read by their addresses, whatever else the workspace has', async () => {
  const agency = await createAgency(app);
  const { id: workspaceId, key } = await createWorkspace(app, { agency_id: agency.id });
  const api = apiClient(app.url, key);
  const listId = (await api('POST', '/api/lists', { name: 'Many' })).body.list._id;
  await filling(async (owner) => {
    await owner.query(
      `insert into leads (workspace_id, id, list_id, first_name, phones)
       select $1, lpad(to_hex(n), 24, '0'), $2, 'Ada', array['+1' || (2000000000 + n)] from generate_series(1, 100000) n`,
      [workspaceId, listId],
    );
    await owner.query(
      `insert into list_addresses (workspace_id, list_id, address, lead_id)
       select $1, $2, '+1' || (2000000000 + n), lpad(to_hex(n), 24, '0') from generate_series(1, 100000) n`,
      [workspaceId, listId],
    );
    // A third of the list, and as many others.
    await owner.query(
      `insert into consents (workspace_id, id, address, channel, status, source, at)
       select $1, lpad(to_hex(n), 24, '0'), '+1' || (2000000000 + n * 3), 'any', 'granted', 'form', now() from generate_series(1, 66666) n`,
      [workspaceId],
    );
    await owner.query(
      `insert into opt_outs (workspace_id, address, source)
       select $1, '+1' || (2000000000 + n * 100), 'api' from generate_series(1, 2000) n`,
      [workspaceId],
    );
    await owner.query(
      `insert into agency_suppressions (agency_id, value) select $1, '+1' || (2000000001 + n * 100) from generate_series(1, 20000) n`,
      [agency.id],
    );
    await analyze(owner, 'leads, list_addresses, consents, opt_outs, agency_suppressions');
  });
  for (const [table, most] of [
    ['consents', 34_000],
    ['opt_outs', 2000],
    ['leads', 100_000],
    ['list_addresses', 100_000],
  ] as const) {
    const read = await entriesRead(app, table, workspaceId, (db) =>
      consentCoverage(db, leadsOfList(db, listId), 'sms'),
    );
    expect(read, table).toBeLessThanOrEqual(most);
  }
  const { body } = await api('GET', `/api/lists/${listId}/consent?channel=sms`);
  // A third of those who are neither opted out, each hundredth, nor suppressed, the one after it.
  expect(body).toMatchObject({ total: 100_000, optedOut: 1000, suppressed: 999, revoked: 0 });
  expect(body.granted + body.unknown).toBe(100_000 - 1999);
});

test('what is looked at of the messages that were sent is bounded, and answers say so', async () => {
  const { id: workspaceId, key } = await createWorkspace(app);
  const api = apiClient(app.url, key);
  const campaignId = newId();
  await filling(async (owner) => {
    await owner.query(
      `insert into campaigns (workspace_id, id, name, steps, status) values ($1, $2, 'Spring', '[]', 'active')`,
      [workspaceId, campaignId],
    );
    await owner.query(
      `insert into messages (workspace_id, id, channel, status, campaign_id, address, scheduled_at, sent_at, source)
       select $1, lpad(to_hex(n), 24, '0'), 'imessage', 'delivered', $2, '+1' || (2120000000 + n), now(), now() - n * interval '40 seconds', 'campaign'
       from generate_series(1, 40000) n`,
      [workspaceId, campaignId],
    );
    await owner.query('vacuum messages');
    await analyze(owner, 'messages');
  });
  const since = new Date(Date.now() - 30 * 86_400_000);
  for (const look of [sentMessages, sentCampaigns, sentSpan])
    expect(
      await entriesRead(app, 'messages', workspaceId, (db) => look(db, since, 2000)),
      look.name,
    ).toBeLessThanOrEqual(2001);
  const held = await api('POST', '/api/compliance/quiet-hours-preview', { enabled: true });
  expect(held.body).toMatchObject({ complete: false, messages: MAX_SENT });
  const consents = await api('GET', '/api/compliance/campaign-consents');
  expect(consents.body).toMatchObject({ complete: false, recipients: MAX_SENT, withoutConsent: MAX_SENT });
  const days = (Date.now() - Date.parse(consents.body.from)) / 86_400_000;
  expect(days).toBeGreaterThan(9);
  expect(days).toBeLessThan(10);
});

test('the timeline of a contact reads what is about it, and nothing else of a large workspace', async () => {
  const { id: workspaceId } = await createWorkspace(app);
  const [leadId, contact] = [newId(), '+14155550123'];
  await filling(async (owner) => {
    // 300 messages are to the contact, and 300 from it.
    await owner.query(
      `insert into messages (workspace_id, id, channel, status, lead_id, address, scheduled_at, sent_at, source)
       select $1, lpad(to_hex(n), 24, '0'), 'imessage', 'delivered', case when n % 100 = 0 then $2 end,
         case when n % 100 = 0 then $3 else '+1' || (2120000000 + n % 3000) end, now(), now() - n * interval '1 minute', 'api'
       from generate_series(1, 30000) n`,
      [workspaceId, leadId, contact],
    );
    await owner.query(
      `insert into inbound_messages (workspace_id, id, line_id, carrier_message_id, address, body, received_at)
       select $1, lpad(to_hex(n), 24, '0'), $2, n::text,
         case when n % 100 = 0 then $3 else '+1' || (2120000000 + n % 3000) end, 'Hi', now() - n * interval '1 minute'
       from generate_series(1, 30000) n`,
      [workspaceId, newId(), contact],
    );
    await analyze(owner, 'messages');
    await analyze(owner, 'inbound_messages');
  });
  const lead = { id: leadId, phones: [contact], emails: [] };
  for (const table of ['messages', 'inbound_messages']) {
    const read = await entriesRead(app, table, workspaceId, async (db) => {
      expect(await listContactTimeline(db, lead, { limit: 51, after: null })).toHaveLength(51);
    });
    // Each is found by its address, and again by its lead.
    expect(read, table).toBeLessThanOrEqual(610);
  }
});

test('the filters of an inbox with 100,000 conversations read those that match, and few others', async () => {
  const { id: workspaceId, ownerId } = await createWorkspace(app);
  const line = newId();
  const now = new Date('2026-06-10T12:00:00Z');
  await filling(async (owner) => {
    // The oldest 30 are still open: nine are assigned, nine have a tag and a line. Ten are snoozed. All others are closed.
    await owner.query(
      `insert into conversations (workspace_id, address, last_inbound_at, status, snoozed_until, assignee_id, tags, line_id)
       select $1, '+1' || (2000000000 + n), $3::timestamptz - n * interval '1 minute',
         case when n > 99970 then 'open' when n % 10000 = 0 then 'snoozed' else 'closed' end, '2027-01-01',
         case when n > 99991 then $2 end, case when n > 99991 then array['VIP'] else '{}' end,
         case when n > 99991 then $4 else $5 end
       from generate_series(1, 100000) n`,
      [workspaceId, ownerId, now, line, newId()],
    );
    // Inbound messages of the last 30 days have been read.
    await owner.query(
      `insert into conversation_reads (workspace_id, address, user_id, read_at)
       select workspace_id, address, $2, last_inbound_at from conversations
       where workspace_id = $1 and last_inbound_at < $3::timestamptz - interval '20 minutes'`,
      [workspaceId, ownerId, now],
    );
    await owner.query('vacuum conversations');
    await analyze(owner, 'conversations');
    await analyze(owner, 'conversation_reads');
  });
  const reader = { workspaceId, userId: ownerId, now, since: new Date(now.getTime() - 30 * 86_400_000) };
  const cases: [filters: ConversationFilters, matches: number, most: number][] = [
    [{ status: 'open' }, 30, 50],
    [{ status: 'snoozed' }, 9, 20],
    [{ status: 'closed' }, 50, 100],
    [{ assignee: ownerId }, 9, 20],
    [{ assignee: ownerId, tag: 'vip', status: 'open' }, 9, 20],
    [{ assignee: 'none', status: 'open' }, 21, 50],
    [{ tag: 'vip' }, 9, 20],
    [{ line }, 9, 20],
    [{ line, status: 'open' }, 9, 20],
    [{ unread: 'true', status: 'open' }, 0, 50],
    [{ unanswered: 'true' }, 30, 50],
  ];
  for (const [filters, matches, most] of cases) {
    const read = await entriesRead(app, 'conversations', workspaceId, async (db) => {
      const conditions = await conditionsOf(db, filters, reader);
      expect(await listConversations(db, conditions, { limit: 50, after: null })).toHaveLength(matches);
    });
    expect(read, JSON.stringify(filters)).toBeLessThanOrEqual(most);
  }
  const counted = await entriesRead(app, 'conversations', workspaceId, async (db) => {
    expect(await countUnread(db, reader)).toBe(0);
  });
  expect(counted).toBeLessThanOrEqual(50);
  // All of the last 30 days are looked at to find what is unread.
  const unread = await entriesRead(app, 'conversations', workspaceId, async (db) => {
    const conditions = await conditionsOf(db, { unread: 'true' }, reader);
    expect(await listConversations(db, conditions, { limit: 50, after: null })).toHaveLength(20);
  });
  expect(unread).toBeLessThanOrEqual(30 * 24 * 60 + 50);
});

test('a search of conversations reads the newest messages and fallback SMS only', async () => {
  const { id: workspaceId, ownerId } = await createWorkspace(app);
  await filling(async (owner) => {
    await owner.query(
      `insert into messages (workspace_id, id, channel, status, address, body, recipient_name, scheduled_at, source, sent_at, fallback_sms, fallback_at)
       select $1, lpad(to_hex(n), 24, '0'), 'imessage', case when n % 2 = 0 then 'sent' else 'fallback' end,
         '+1' || (2000000000 + n), 'Hi', 'Ada', now(), 'api',
         case when n % 2 = 0 then now() - n * interval '1 minute' end,
         case when n % 2 = 1 then 'dispatched' end, case when n % 2 = 1 then now() - n * interval '1 minute' end
       from generate_series(1, 40000) n`,
      [workspaceId],
    );
    await analyze(owner, 'messages');
  });
  const now = new Date();
  const reader = { workspaceId, userId: ownerId, now, since: now };
  const read = await entriesRead(app, 'messages', workspaceId, (db) =>
    conditionsOf(db, { q: 'zqx' }, reader),
  );
  expect(read).toBeGreaterThan(9_000);
  expect(read).toBeLessThanOrEqual(10_100);
});

test('a search of conversations reads nothing of long texts but their beginnings', async () => {
  const { id: workspaceId, ownerId } = await createWorkspace(app);
  const now = new Date();
  await connected(app.ownerUrl, (owner) =>
    owner.query(
      `insert into inbound_messages (workspace_id, id, line_id, address, carrier_message_id, body, received_at)
       select $1, lpad(to_hex(n), 24, '0'), $2, '+1' || (2000000000 + n), n::text,
         'Grüße ' || n || (select string_agg(md5(n::text || m), ' ') from generate_series(1, 3000) m), $3
       from generate_series(1, 200) n`,
      [workspaceId, newId(), now],
    ),
  );
  const reader = { workspaceId, userId: ownerId, now, since: now };
  const chunks = await withTenant(app.pools, workspaceId, async (db) => {
    const read = () =>
      db.oneFirst(sql.type(z.object({ count: z.int() }))`
        select (pg_stat_get_xact_tuples_returned(reltoastrelid) + pg_stat_get_xact_tuples_fetched(reltoastrelid)
          + (select sum(pg_stat_get_xact_tuples_returned(indexrelid)) from pg_index where indrelid = reltoastrelid))::int count
        from pg_class where relname = 'inbound_messages'`);
    const before = await read();
    await conditionsOf(db, { q: 'zqx' }, reader);
    return (await read()) - before;
  });
  // Two for each, of more than fifty.
  expect(chunks).toBeLessThanOrEqual(200 * 5);
});

test('the queue of a line that stops or goes is read once, however many chunks it takes', async () => {
  const { id: workspaceId } = await createWorkspace(app);
  const [gone, stopped] = [newId(), newId()];
  // Nobody else takes what they leave.
  const messages = 10_000;
  await connected(app.ownerUrl, async (owner) => {
    await owner.query(
      `insert into messages (workspace_id, id, channel, status, line_id, line_pinned, address, scheduled_at, source, held, fallback_sms, fallback_at)
       select $1, lpad(to_hex(n), 24, '0'), 'imessage', case when n % 10 = 0 then 'sent' else 'pending' end,
         case when n % 2 = 0 then $2 else $3 end, n % 4 = 1, '+1' || (2000000000 + n), now() + n % 100 * interval '1 minute', 'api',
         n % 3 = 0 and n % 10 <> 0, case when n % 10 = 0 then 'due' end, now()
       from generate_series(1, $4::int) n
       union all select $1, 'f' || lpad(to_hex(n), 23, '0'), 'imessage', 'delivered', case when n % 2 = 0 then $2 else $3 end, false,
         '+1' || (2000000000 + n), now(), 'api', false, null, null
       from generate_series(1, $4::int) n`,
      [workspaceId, gone, stopped, 2 * messages],
    );
    await analyze(owner, 'messages');
  });
  const toFind = await entriesRead(app, 'messages', workspaceId, async (db) => {
    const queues = await strandedQueues(db as unknown as SystemDb);
    expect(new Set(queues)).toEqual(new Set([gone, stopped].map((lineId) => ({ workspaceId, lineId }))));
  });
  // One for each queue, and the end.
  expect(toFind).toBeLessThanOrEqual(3);
  const chunksOf = async (
    next: (db: TenantDb, after: QueuePosition | null) => Promise<QueuePosition | null | 'done'>,
  ) => {
    let [chunks, read] = [0, 0];
    for (let after: QueuePosition | null = null; ; chunks += 1) {
      let found: QueuePosition | null | 'done' = null;
      read += await entriesRead(app, 'messages', workspaceId, async (db) => (found = await next(db, after)));
      if (found === 'done') return { chunks, read };
      after = found;
    }
  };
  const abandoned = await chunksOf(async (db, from) => {
    const { after, isDone } = await removeChunk(db, gone, from);
    return isDone ? 'done' : after;
  });
  const rehomed = await chunksOf(async (db, from) => (await reassignChunk(db, stopped, from)) ?? 'done');
  expect(abandoned.chunks).toBeGreaterThan(4);
  expect(rehomed.chunks).toBeGreaterThan(1);
  // To find a message, to lock it, and once or twice to change it, as statistics have it. Were each chunk to read all that is
  // left, they would read ten times as many as there are messages.
  expect(abandoned.read).toBeLessThanOrEqual(4.1 * messages);
  expect(rehomed.read).toBeLessThanOrEqual(4.1 * messages);
});
