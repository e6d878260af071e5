import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { claimFallback } from '#db/commands/sending/send-claim.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { attemptHelpers } from '#test/support/attempts.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;
// No worker: the test makes the attempts.
beforeAll(async () => void (app = await sharedApp({ worker: false })));
beforeEach(async () => {
  workspace = await createWorkspaceWithLine(app);
  const config = { enabled: true, provider: 'simulated', fromNumber: '+14155550100' };
  await workspace.api('PATCH', '/api/workspace/fallback-config', config);
});

const { newCampaign } = campaignHelpers(() => ({ app, workspace, api: workspace.api }));
const { inTenant, claim, settle } = attemptHelpers(() => ({ app, workspace }));

/** A step of a campaign that is being sent to the wrong number of a lead, which is corrected meanwhile. */
async function correctedWhileSent() {
  const steps = [{ message: 'Hello', smsFallbackEnabled: true }];
  const campaign = await newCampaign({ steps, start: true });
  const { api } = workspace;
  const lead = { phone: phone() };
  const { leadId } = (await api('POST', `/api/campaigns/${campaign}/leads`, { lead })).body;
  const attempt = await claim();
  const corrected = phone();
  expect((await api('PATCH', `/api/leads/${leadId}`, { phone: corrected })).status).toBe(200);
  const read = async () => (await api('GET', `/api/messages/${attempt.messageId}`)).body;
  return { attempt, corrected, read };
}

describe('a message of a campaign whose lead gets another number while it is being sent', () => {
  it('is sent to the new one if the carrier has not taken it', async () => {
    const { attempt, corrected, read } = await correctedWhileSent();
    await settle(attempt, { kind: 'not_sent', reason: 'the carrier did not take it' });
    expect(await read()).toMatchObject({ status: 'scheduled', recipientPhone: corrected });
  });

  it('is followed by no SMS to the former one', async () => {
    const { attempt, read } = await correctedWhileSent();
    await settle(attempt, { kind: 'unavailable', reason: 'no iMessage' });
    const { lineId } = workspace;
    expect(await inTenant((db) => claimFallback(db, lineId, attempt.messageId, () => 1000))).toBeNull();
    expect(await read()).toMatchObject({ status: 'fallback', fallbackSmsDispatched: false });
  });
});
