import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCampaignActivities } from '#activities/campaigns/campaigns.ts';
import { connected } from '#db/connection/connected.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { createWorkspace } from '#test/support/factories.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());

test.each(['enterLeads', 'lookAtCampaign', 'clearCampaign'] as const)(
  '%s sends heartbeats while the database takes its time',
  async (name) => {
    const { id: workspaceId, api } = await createWorkspace(app);
    const { _id: listId } = (await api('POST', '/api/lists', { name: 'All' })).body.list;
    const body = { name: 'Spring', listId, steps: [{ message: 'Hello' }] };
    const { _id: campaignId } = (await api('POST', '/api/campaigns', body)).body.campaign;
    await connected(app.ownerUrl, (owner) =>
      owner.query(
        'create policy slow on campaigns as restrictive for select to linepace_tenant using (pg_sleep(1) is not null)',
      ),
    );
    const activity = new MockActivityEnvironment({ heartbeatTimeoutMs: 300 });
    let heartbeats = 0;
    activity.on('heartbeat', () => (heartbeats += 1));
    const { [name]: run } = createCampaignActivities(app);
    await activity.run(run, { workspaceId, campaignId });
    await connected(app.ownerUrl, (owner) => owner.query('drop policy slow on campaigns'));
    expect(heartbeats).toBeGreaterThan(1);
  },
);
