import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone } from '#test/support/carrier.ts';
import { startEndpoint } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;
const { newList, newCampaign, step, stepsOf } = campaignHelpers(() => ({
  app,
  workspace,
  api: workspace.api,
}));

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => void (workspace = await createWorkspaceWithLine(app)));

const suspicions = async (status = 'open') =>
  (await workspace.api('GET', `/api/opt-outs/suspected?status=${status}`)).body.suspicions;
const suspected = () => eventually(async () => (await suspicions())[0]);
const decide = (id: string, action: string) =>
  workspace.api('POST', `/api/opt-outs/suspected/${id}`, { action });
const isOptedOut = async (address: string) =>
  (await workspace.api('GET', `/api/opt-outs/${encodeURIComponent(address)}`)).body.optedOut;

/** A lead in a campaign that goes on after a reply, whose next step is due as soon as the line sends again. */
async function inCampaign() {
  const address = phone();
  const { listId, leadIds } = await newList([{ phone: address }]);
  const leadId = leadIds[0] ?? '';
  const steps = [{ message: 'One' }, { message: 'Two' }];
  const campaignId = await newCampaign({ listId, steps, stopOnReply: false });
  await workspace.api('PATCH', `/api/lines/${workspace.lineId}`, { contactGapSeconds: 6 });
  await workspace.api('POST', `/api/campaigns/${campaignId}/start`);
  await step(campaignId, leadId, 0, 'sent', 'delivered');
  await writeIn(app, { lineId: workspace.lineId, from: address, text: 'Please take me off your list' });
  const suspicion = await suspected();
  const held = () =>
    eventually(async () => {
      const next = (await stepsOf(campaignId, leadId))[1];
      return next?.holdReason === 'opt_out_suspected' && next;
    });
  return { address, campaignId, leadId, suspicion, held };
}

describe('a reply that asks to be left alone in other words', () => {
  it('opts nobody out, but holds the campaigns, and tells webhooks', async () => {
    const endpoint = await startEndpoint();
    await workspace.api('POST', '/api/webhooks', {
      url: endpoint.url,
      events: ['contact.opt_out_suspected'],
    });
    const { address, suspicion, held } = await inCampaign();
    expect(suspicion).toMatchObject({ address, message: 'Please take me off your list', status: 'open' });
    const message = await held();
    expect(await isOptedOut(address)).toBe(false);
    const { waitingFor } = (await workspace.api('GET', `/api/messages/${message._id}/timeline`)).body;
    expect(waitingFor).toMatchObject({ reason: 'opt_out_suspected' });
    const delivery = await eventually(async () => endpoint.received[0]);
    expect(delivery.json).toMatchObject({
      event: 'contact.opt_out_suspected',
      address,
      suspicionId: suspicion._id,
    });
    await endpoint.close();
  });

  it('is an opt-out once a person confirms it', async () => {
    const { address, campaignId, leadId, suspicion, held } = await inCampaign();
    await held();
    const { status, body } = await decide(suspicion._id, 'confirm');
    expect([status, body.suspicion?.status]).toEqual([200, 'confirmed']);
    expect(await isOptedOut(address)).toBe(true);
    expect((await stepsOf(campaignId, leadId))[1]?.status).toBe('canceled');
    expect((await decide(suspicion._id, 'dismiss')).status).toBe(409);
  });

  it('lets the campaigns go on once it is dismissed', async () => {
    const { address, campaignId, leadId, suspicion, held } = await inCampaign();
    await held();
    expect((await decide(suspicion._id, 'dismiss')).status).toBe(200);
    await step(campaignId, leadId, 1, 'sent', 'delivered');
    expect(await isOptedOut(address)).toBe(false);
    expect(await suspicions('dismissed')).toHaveLength(1);
  });

  it('is settled by a STOP, and asked once', async () => {
    const from = phone();
    for (const text of ['wrong number', 'I said wrong number!'])
      await writeIn(app, { lineId: workspace.lineId, from, text });
    await suspected();
    expect(await suspicions()).toHaveLength(1);
    await writeIn(app, { lineId: workspace.lineId, from, text: 'STOP' });
    await eventually(async () => (await suspicions('confirmed')).length === 1);
    expect(await suspicions()).toEqual([]);
  });
});
