import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import {
  createCopilot,
  createDraft,
  eventsOf,
  messagesOf,
  modelRequestsAbout,
  receiveReply,
} from '#test/support/copilot.ts';
import { type Endpoint, hang, startEndpoint } from '#test/support/endpoint.ts';

const SLOTS = 6;

let app: OwnApp;
let hanging: Endpoint;
let answering: Endpoint;

beforeAll(async () => {
  app = await startTestApp({
    environment: {
      WORKER_SLOTS: `main=${SLOTS},model=${SLOTS},webhooks=${SLOTS},carrier-simulated=${SLOTS}`,
      LLM_TIMEOUT_SECONDS: '60',
    },
  });
  [hanging, answering] = [await startEndpoint(hang), await startEndpoint()];
});
afterAll(async () => {
  hanging.behave(204);
  hanging.drop();
  await app.stop();
  await Promise.all([hanging.close(), answering.close()]);
});

describe('a workspace whose model and webhook endpoint never respond', () => {
  it('delays no send, delivery, draft or drip of another', async () => {
    const marker = 'simulate:timeout, for the noisy one';
    const noisy = await createCopilot(app, hanging, { instructions: marker }, 'imessage');
    const contacts = Array.from({ length: 3 * SLOTS }, () => phone());
    for (const recipientPhone of contacts) {
      await noisy.call('POST', '/api/messages', { message: 'Hello', recipientPhone });
      await receiveReply(noisy, recipientPhone, 'Is it still free?');
    }
    // It uses the share of one workspace: half of the slots.
    await eventually(async () => (await modelRequestsAbout(noisy, marker)).length >= SLOTS / 2);
    await eventually(async () => hanging.open() >= SLOTS);

    const quiet = await createCopilot(app, answering, {}, 'imessage');
    const sent = phone();
    await quiet.call('POST', '/api/drip', { message: 'Hello', recipientPhone: phone() });
    await quiet.call('POST', '/api/messages', { message: 'Hello', recipientPhone: sent });
    await createDraft(quiet);
    await eventually(async () => (await sentTo(app, sent)).length === 1);
    await eventually(async () => eventsOf(quiet, 'message.sent').length === 1);
    // The drip has become a message that waits for its jittered time.
    await eventually(async () =>
      (await messagesOf(quiet)).some(({ status }: { status: string }) => status === 'scheduled'),
    );

    // All requests of the noisy workspace are still pending.
    expect(await modelRequestsAbout(noisy, marker)).toHaveLength(SLOTS / 2);
    expect(hanging.open()).toBeGreaterThanOrEqual(SLOTS);
  });
});
