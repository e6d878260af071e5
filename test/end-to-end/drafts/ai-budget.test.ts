import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import {
  autoReplies,
  createCopilot,
  draftFor,
  receiveReply,
  replyIdOf,
  waitForEnd,
} from '#test/support/copilot.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { openTestMode } from '#test/support/test-mode.ts';

let app: TestApp;
let receiver: Endpoint;
beforeAll(async () => {
  app = await sharedApp();
  receiver = await startEndpoint();
});
afterAll(() => receiver.close());

describe("the day's budget for the language model", () => {
  it('ends drafts until tomorrow once it is used up, and says so once', async () => {
    const desk = await createCopilot(app, receiver);
    const { body } = await desk.call('POST', '/api/webhooks', {
      name: 'budget',
      url: receiver.url,
      events: ['ai.budget_exhausted'],
    });
    expect(body.success).toBe(true);
    const set = await desk.call('PUT', '/api/workspace', { aiTokensPerDay: 1 });
    expect(set.body.workspace).toMatchObject({ aiTokensPerDay: 1, aiBudgetExhausted: false });
    const first = phone();
    await receiveReply(desk, first, 'What does it cost?');
    await draftFor(desk, first);
    const told = () =>
      receiver.received
        .map(({ body: text }) => JSON.parse(text))
        .filter(
          ({ event, workspaceId }) => event === 'ai.budget_exhausted' && workspaceId === desk.workspace.id,
        );
    await eventually(async () => told().length === 1);
    expect(told()[0]).toMatchObject({ tokensPerDay: 1 });
    expect((await desk.call('GET', '/api/workspace')).body.workspace.aiBudgetExhausted).toBe(true);

    const second = phone();
    await receiveReply(desk, second, 'And when?');
    expect(await waitForEnd(desk, await replyIdOf(desk, second))).toContain('budget');
    expect(await autoReplies(desk)).toHaveLength(1);
    expect(told()).toHaveLength(1);

    await desk.call('PATCH', '/api/workspace', { aiTokensPerDay: 1_000_000 });
    const third = phone();
    await receiveReply(desk, third, 'Hello?');
    await draftFor(desk, third);
  });

  it('counts what an endpoint has used that does not say it', async () => {
    const desk = await createCopilot(app, receiver, { instructions: 'simulate:uncounted' });
    const contact = phone();
    await receiveReply(desk, contact, 'What does it cost?');
    await draftFor(desk, contact);
    const { workspace } = (await desk.call('GET', '/api/workspace')).body;
    expect(workspace.aiTokensUsedToday).toBeGreaterThan(100);
  });

  it('is two million tokens unless it is set', async () => {
    const desk = await createCopilot(app, receiver);
    expect((await desk.call('GET', '/api/workspace')).body.workspace.aiTokensPerDay).toBe(2_000_000);
    expect((await desk.call('PATCH', '/api/workspace', { aiTokensPerDay: -1 })).status).toBe(400);
  });
});

test('a contact gets six drafts an hour', async () => {
  const desk = await createCopilot(app, receiver);
  const contact = phone();
  for (let drafts = 1; drafts <= 6; drafts += 1) {
    await receiveReply(desk, contact, `Question ${drafts}`);
    await eventually(async () =>
      (await autoReplies(desk, '&status=drafted')).some(({ inboundText }: { inboundText: string }) =>
        inboundText.includes(`Question ${drafts}`),
      ),
    );
  }
  await receiveReply(desk, contact, 'Question 7');
  expect(await waitForEnd(desk, await replyIdOf(desk, contact))).toContain('at most 6 drafts an hour');
});

test('a twin uses a simulated model', async () => {
  const desk = await createCopilot(app, receiver);
  const { api } = await openTestMode(app, desk.workspace);
  await api('PUT', '/api/knowledge-base', {
    mode: 'copilot',
    debounceSeconds: 0,
    instructions: 'simulate:500',
  });
  await api('POST', '/api/test/inbound', { from: '+14155550188', text: 'What does it cost?' });
  // The simulator, like any configured model, would fail.
  const [draft] = await eventually(async () => {
    const found = (await api('GET', '/api/knowledge-base/auto-replies')).body.autoReplies;
    return found.length > 0 && found;
  });
  expect(draft.draftMessage).toContain('What does it cost?');
});
