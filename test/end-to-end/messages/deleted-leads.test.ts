import { beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { claimFallback } from '#db/commands/sending/send-claim.ts';
import { deleteLeads } from '#db/commands/contacts/delete-leads.ts';
import { settlePrimary } from '#db/commands/sending/outcomes.ts';
import { lockLead } from '#db/queries/contacts/leads.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { attemptHelpers } from '#test/support/attempts.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone } from '#test/support/carrier.ts';
import { createLead, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { stayOpen, waitingForLocks } from '#test/support/locks.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;
// No worker: the test makes the attempts.
beforeAll(async () => void (app = await sharedApp({ worker: false })));
beforeEach(async () => {
  workspace = await createWorkspaceWithLine(app);
  await workspace.api('PATCH', '/api/workspace/fallback-config', {
    enabled: true,
    provider: 'simulated',
    fromNumber: '+14155550100',
  });
});

const { newCampaign } = campaignHelpers(() => ({ app, workspace, api: workspace.api }));
const { inTenant, planAt, claim, settle } = attemptHelpers(() => ({ app, workspace }));

const notSent = { kind: 'not_sent', reason: 'the carrier did not take it' } as const;
const soon = (): Date => new Date(Date.now() + 60_000);

const newLead = () => createLead(app, workspace.id, { first_name: 'Ada', phones: [phone()] });
const send = async (leadId: string, fields: object = {}): Promise<string> => {
  const request = { message: 'Hi {{ firstName }},', leadId, ...fields };
  return (await workspace.api('POST', '/api/messages', request)).body._id;
};
const get = async (id: string) => (await workspace.api('GET', `/api/messages/${id}`)).body;
const remove = (leadId: string) => workspace.api('DELETE', `/api/leads/${leadId}`);
const canceled = { status: 'canceled', holdReason: 'lead_deleted' };

describe('a message whose lead is deleted while it is being sent', () => {
  it('is canceled if it was not sent', async () => {
    const leadId = await newLead();
    const id = await send(leadId);
    const attempt = await claim();
    await remove(leadId);
    await settle(attempt, notSent);
    expect(await get(id)).toMatchObject(canceled);
  });

  it('is canceled with the reason if it is a step of a campaign', async () => {
    const leadId = await newLead();
    const campaign = await newCampaign({ start: true });
    await workspace.api('POST', `/api/campaigns/${campaign}/leads`, { leadId });
    const attempt = await claim();
    await remove(leadId);
    await settle(attempt, notSent);
    expect(await get(attempt.messageId)).toMatchObject(canceled);
  });

  it('is canceled if it returns to the queue just before the deletion commits', async () => {
    const leadId = await newLead();
    const id = await send(leadId);
    const attempt = await claim();
    const deletion = await stayOpen<TenantDb>(inTenant, async (db) => {
      const lead = await lockLead(db, leadId);
      if (lead) await deleteLeads(db, [lead], new Date());
    });
    const settled = settle(attempt, notSent);
    await Promise.race([settled, waitingForLocks(app, 1)]);
    await deletion.release();
    await settled;
    expect(await get(id)).toMatchObject(canceled);
  });

  it('is canceled if it returns to the queue just after the deletion has begun', async () => {
    const leadId = await newLead();
    const id = await send(leadId);
    const attempt = await claim();
    const settling = await stayOpen<TenantDb>(inTenant, (db) =>
      settlePrimary(db, attempt, notSent, new Date()),
    );
    const removed = remove(leadId);
    await Promise.race([removed, waitingForLocks(app, 1)]);
    await settling.release();
    await removed;
    expect(await get(id)).toMatchObject(canceled);
  });

  it('is sent if the carrier took it', async () => {
    const leadId = await newLead();
    const id = await send(leadId);
    const attempt = await claim();
    await remove(leadId);
    await settle(attempt, { kind: 'accepted', carrierMessageId: 'CM1' });
    expect((await get(id)).status).toBe('sent');
  });

  it('is not followed by an SMS', async () => {
    const leadId = await newLead();
    const id = await send(leadId, { smsFallbackEnabled: true });
    const attempt = await claim();
    await remove(leadId);
    await settle(attempt, { kind: 'unavailable', reason: 'no iMessage' });
    expect((await get(id)).status).toBe('fallback');
    expect(await planAt(soon())).toMatchObject({ fallbacksDue: [] });
  });
});

test('a fallback SMS that waits is not sent once its lead is deleted', async () => {
  const leadId = await newLead();
  const id = await send(leadId, { smsFallbackEnabled: true });
  await settle(await claim(), { kind: 'unavailable', reason: 'no iMessage' });
  expect(await planAt(soon())).toMatchObject({ fallbacksDue: [id] });
  await remove(leadId);
  expect(await inTenant((db) => claimFallback(db, workspace.lineId, id, () => 1000))).toBeNull();
  expect(await planAt(soon())).toMatchObject({ fallbacksDue: [] });
});
