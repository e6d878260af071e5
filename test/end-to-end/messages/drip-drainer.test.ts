import { sql } from 'slonik';
import { z } from 'zod';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { clearMessages } from '#db/commands/campaigns/campaign-status.ts';
import { takeDue } from '#db/commands/events/notifications.ts';
import { systemDb, type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { takeDrips } from '#db/queries/messages/drip.ts';
import { newId } from '#domain/base/ids.ts';
import { connected } from '#db/connection/connected.ts';
import { removeLine, transferLine } from '#test/support/agency-lines.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import { startEndpoint } from '#test/support/endpoint.ts';
import {
  createAgencyWithTwoWorkspaces,
  createLine,
  type TestAgency,
  type TestWorkspace,
} from '#test/support/factories.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: OwnApp;
let agency: TestAgency;
let workspace: TestWorkspace;
let target: TestWorkspace;
let call: ApiClient;

beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());
beforeEach(async () => {
  await app.stopWorker();
  ({ agency, first: workspace, second: target } = await createAgencyWithTwoWorkspaces(app));
  call = workspace.api;
});

const drip = async (fields: object = {}): Promise<string> => {
  const { status, body } = await call('POST', '/api/drip', {
    message: 'Hello',
    recipientPhone: phone(),
    ...fields,
  });
  expect(status).toBe(202);
  return body.correlationId;
};
const messageOf = (correlationId: string) =>
  eventually(async () => {
    const { body } = await call('GET', `/api/messages?correlationId=${correlationId}`);
    return body.messages[0];
  });
const buffered = () =>
  systemDb(app.pools).oneFirst(sql.type(z.object({ count: z.int() }))`
    select count(*) from drip_buffer where workspace_id = ${workspace.id}`);

describe('drips for a line that leaves before they become messages', () => {
  it.each(['transfer', 'delete'] as const)(
    'go to another line, without delaying other drips (%s)',
    async (action) => {
      const [leaving, staying] = [await createLine(app, workspace.id), await createLine(app, workspace.id)];
      const named = [await drip({ fromLineId: leaving }), await drip({ eligibleLineIds: [leaving] })];
      const innocent = [await drip(), await drip({ fromLineId: staying })];
      const owner = await sessionClient(app, { userId: agency.ownerId });
      expect((await removeLine(owner, leaving, action, target)).status).toBe(200);
      await app.startWorker();
      for (const correlationId of [...named, ...innocent])
        expect(await messageOf(correlationId)).toMatchObject({ status: 'scheduled', fromLineId: staying });
      expect(await buffered()).toBe(0);
    },
  );

  it('wait until their workspace has another line', async () => {
    const leaving = await createLine(app, workspace.id);
    const correlationId = await drip({ fromLineId: leaving });
    expect((await transferLine(agency.api, leaving, target)).status).toBe(200);
    await app.startWorker();
    expect(await messageOf(correlationId)).toMatchObject({ status: 'scheduled', fromLineId: null });
    const next = await createLine(app, target.id);
    expect((await transferLine(agency.api, next, workspace)).status).toBe(200);
    expect(await messageOf(correlationId)).toMatchObject({ status: 'scheduled', fromLineId: next });
  });
});

describe('a buffered drip that cannot become a message', () => {
  it('becomes a failed message with the reason, without delaying others', async () => {
    const lineId = await createLine(app, workspace.id);
    const receiver = await startEndpoint();
    await call('POST', '/api/webhooks', { name: 'f', url: receiver.url, events: ['message.failed'] });
    const correlationIds = [];
    for (let made = 0; made < 9; made += 1) correlationIds.push(await drip());
    const spoil = (correlationId: string | undefined, changes: Record<string, string | null>) =>
      systemDb(app.pools).query(sql.type(z.unknown())`
        update drip_buffer set draft = draft || ${sql.jsonb(changes)}
        where workspace_id = ${workspace.id} and draft ->> 'correlationId' = ${correlationId ?? ''}`);
    const [unreadable, tooLate, unstorable] = [correlationIds[2], correlationIds[5], correlationIds[8]];
    await spoil(unreadable, { channel: 'telegraph' });
    await spoil(tooLate, { scheduledAt: 'tomorrow' });
    await spoil(unstorable, { leadId: 'not an id' });
    await app.startWorker();
    for (const correlationId of correlationIds) {
      const isSpoilt = [unreadable, tooLate, unstorable].includes(correlationId);
      expect(await messageOf(correlationId)).toMatchObject(
        isSpoilt
          ? { status: 'failed', errorMessage: expect.stringMatching(/^invalid_draft: /), fromLineId: null }
          : { status: 'scheduled', fromLineId: lineId },
      );
    }
    expect((await messageOf(unreadable ?? '')).errorMessage).toBe('invalid_draft: channel');
    expect(await buffered()).toBe(0);
    await eventually(async () => receiver.received.length === 3);
    await receiver.close();
  });
});

describe('with outdated table statistics', () => {
  /** Fills a table after the planner has analyzed it with one row. */
  async function fillAfterAnalyze(
    table: string,
    fill: (from: number, to: number) => Promise<void>,
  ): Promise<void> {
    await connected(app.ownerUrl, async (owner) => {
      await owner.query(`alter table ${table} set (autovacuum_enabled = off)`);
      await fill(1, 1);
      await owner.query(`analyze ${table}`);
    });
    await fill(2, 500);
  }
  const run = (query: ReturnType<typeof sql.fragment>) =>
    systemDb(app.pools).query(sql.type(z.unknown())`${query}`);
  const inWorkspace = <T>(work: (db: TenantDb) => Promise<T>) => withTenant(app.pools, workspace.id, work);

  it('no more drips are taken than requested', async () => {
    await fillAfterAnalyze('drip_buffer', async (from, to) => {
      await run(sql.fragment`insert into drip_buffer (workspace_id, id, draft)
        select ${workspace.id}, lpad(to_hex(n), 24, '0'), '{}' from generate_series(${from}::int, ${to}::int) n returning null`);
    });
    expect(await inWorkspace((db) => takeDrips(db, 20))).toHaveLength(20);
  });

  it('no more notifications are taken than requested', async () => {
    await fillAfterAnalyze('notifications', async (from, to) => {
      await run(sql.fragment`insert into notifications (workspace_id, kind, subject, since, due_at)
        select ${workspace.id}, 'reply', n::text, now(), now() from generate_series(${from}::int, ${to}::int) n returning null`);
    });
    expect(await inWorkspace((db) => takeDue(db, new Date(), 20))).toHaveLength(20);
  });

  it('no more messages of an ended campaign are canceled than requested', async () => {
    const campaignId = newId();
    await fillAfterAnalyze('messages', async (from, to) => {
      await run(sql.fragment`
        insert into messages (workspace_id, id, channel, status, address, scheduled_at, source, campaign_id)
        select ${workspace.id}, lpad(to_hex(n), 24, '0'), 'sms', 'scheduled', '+14155550100', now(), 'campaign', ${campaignId}
        from generate_series(${from}::int, ${to}::int) n returning null`);
    });
    expect(await inWorkspace((db) => clearMessages(db, campaignId, 20))).toBe(20);
  });
});
