import pg from 'pg';
import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { decide } from '#db/wakes/decisions.ts';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb, type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { dripDrainerId } from '#workflows/protocol/workflow-ids.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { waitingForLocks } from '#test/support/locks.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());

/**
 * Makes every insert into the table wait until `release`: its snapshot is taken, and its transaction has no id yet unless
 * it has written before.
 */
async function holdInserts(table: string): Promise<{ release(): Promise<void> }> {
  const KEY = 4_711;
  const owner = new pg.Client({ connectionString: app.ownerUrl });
  await owner.connect();
  await owner.query(`
    create function hold_inserts() returns trigger language plpgsql set lock_timeout = 0 as $$
      begin perform pg_advisory_xact_lock_shared(${KEY}); return null; end $$;
    create trigger hold_inserts before insert on ${table} execute function hold_inserts();
    select pg_advisory_lock(${KEY})`);
  onTestFinished(async () => {
    await owner.query(`drop function hold_inserts cascade`);
    await owner.end();
  });
  return {
    async release() {
      await owner.query(`select pg_advisory_unlock(${KEY})`);
    },
  };
}

const Wake = z.object({ isResting: z.boolean() });
const isResting = (workflowId: string): Promise<boolean> =>
  systemDb(app.pools).oneFirst(sql.type(Wake)`
    select wake_at > now() + interval '1 day' is_resting from workflow_wakes where workflow_id = ${workflowId}`);

describe('work that is being inserted while its workflow decides to rest', () => {
  it('wakes the workflow again', async () => {
    const workspace = await createWorkspace(app);
    await createLine(app, workspace.id);
    const call = apiClient(app.url, workspace.key);
    const send = () => call('POST', '/api/drip', { message: 'Hi', recipientPhone: phone() });
    const drainer = dripDrainerId(workspace.id);
    const look = async (db: TenantDb) => {
      const { rowCount } = await db.query(sql.type(NoRows)`
        delete from drip_buffer where workspace_id = ${workspace.id}`);
      return { nextAt: rowCount > 0 ? new Date() : null };
    };
    const rest = () => decide(app.pools, workspace.id, drainer, look);

    expect(await send()).toMatchObject({ status: 202 });
    // The drainer is at work: it is due to look.
    expect([await isResting(drainer), (await rest()).nextAt]).toEqual([false, expect.any(Date)]);
    // What is inserted first.
    const inserts = await holdInserts('drip_claims');
    const sending = send();
    await waitingForLocks(app, 1);
    expect(await rest()).toMatchObject({ nextAt: null });
    await inserts.release();
    expect(await sending).toMatchObject({ status: 202 });
    expect(await isResting(drainer)).toBe(false);
    expect(await withTenant(app.pools, workspace.id, look)).toMatchObject({ nextAt: expect.any(Date) });
  });
});
