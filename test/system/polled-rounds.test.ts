import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, inject, it, test } from 'vitest';
import { z } from 'zod';
import { polledKinds } from '#db/queries/operations/due-rounds.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { createTemporalClient } from '#providers/temporal.ts';
import { eventually, type OwnApp, registerNamespace, startTestApp } from '#test/support/app.ts';
import { startBlackHole } from '#test/support/black-hole.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { hang, startEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspaceWithLine } from '#test/support/factories.ts';
import { startMailbox } from '#test/support/mailbox.ts';
import { activitiesOf } from '#test/support/workflows.ts';
import { startWorker } from '#workers/worker.ts';
import {
  dripDrainerId,
  linePacerId,
  mailboxReaderId,
  webhookDispatcherId,
  WORKFLOWS,
} from '#workflows/protocol/workflow-ids.ts';

let app: OwnApp;
let api: ApiClient;
let workspaceId: string;
let lineId: string;

beforeAll(async () => {
  app = await startTestApp({ environment: { INBOX_POLL_SECONDS: '1' } });
  const workspace = await createWorkspaceWithLine(app);
  ({ id: workspaceId, lineId } = workspace);
  api = apiClient(app.url, workspace.key);
  const polled = Object.keys(WORKFLOWS).filter((kind) => WORKFLOWS[kind]?.isPolled);
  await eventually(async () => (await polledKinds(systemDb(app.pools))).size === polled.length);
});
afterAll(() => app.stop());

const exists = async (workflowId: string): Promise<boolean> => {
  for await (const _ of app.temporal.workflow.list({ query: `WorkflowId = '${workflowId}'` })) return true;
  return false;
};
const stateOf = async (workflowId: string) =>
  app.temporal.workflow.getHandle(workflowId).query<{ state: string; reason: string }>('status');
const hasMessages = (workspace: string, count: number): Promise<boolean> =>
  systemDb(app.pools).oneFirst(sql.type(z.object({ has: z.boolean() }))`
    select count(*) = ${count} has from messages where workspace_id = ${workspace}`);
const subscribe = async (url: string, as = api) =>
  as('POST', '/api/webhooks', { name: newId(), url, events: ['message.sent'] });

describe('events and drips', () => {
  it('are delivered and drained without a workflow, once each', async () => {
    const { id, key } = await createWorkspaceWithLine(app);
    const fresh = apiClient(app.url, key);
    const target = await startEndpoint();
    await subscribe(target.url, fresh);
    for (let n = 0; n < 3; n += 1)
      await fresh('POST', '/api/messages', { message: 'Hello', recipientPhone: phone() });
    for (let n = 0; n < 3; n += 1)
      await fresh('POST', '/api/drip', { message: 'Hello', recipientPhone: phone() });
    await eventually(async () => target.received.length === 3 && (await hasMessages(id, 6)));
    const ids = target.received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await exists(webhookDispatcherId(id))).toBe(false);
    expect(await exists(dripDrainerId(id))).toBe(false);
    await target.close();
  });

  it('are taken over by the workflow while some wait for longer than the round of a process', async () => {
    const other = await createWorkspaceWithLine(app);
    const target = await startEndpoint();
    await other.api('POST', '/api/webhooks', { name: newId(), url: target.url, events: ['lead.created'] });
    const list = await other.api('POST', '/api/lists', { name: 'Without an end' });
    const goesOn = async (): Promise<void> => {
      const lead = { firstName: 'Ada', phone: phone() };
      await other.api('POST', '/api/leads', { listId: list.body.list._id, leads: [lead] });
      await other.api('POST', '/api/drip', { message: 'Hello', recipientPhone: phone() });
    };
    await goesOn();
    await eventually(async () => target.received.length > 0);

    const slow = await startEndpoint(hang);
    await subscribe(slow.url);
    // More than an endpoint that does not answer gets at once.
    for (let n = 0; n < 20; n += 1)
      await api('POST', '/api/messages', { message: 'Hello', recipientPhone: phone() });
    const workflowId = webhookDispatcherId(workspaceId);
    await eventually(async () => {
      await goesOn();
      return (await activitiesOf(app, workflowId)).includes('deliverWebhooks');
    });
    // They last as long, but none waits.
    expect(await exists(webhookDispatcherId(other.id))).toBe(false);
    expect(await exists(dripDrainerId(other.id))).toBe(false);
    await target.close();
    slow.behave(204);
    slow.drop();
    await eventually(async () => {
      const { status } = await app.temporal.workflow.getHandle(workflowId).describe();
      return status.name === 'COMPLETED';
    });
    await slow.close();
  });
});

describe('a mailbox', () => {
  it('is read by a process while its workflow waits, and shows that it cannot be read', async () => {
    const mailbox = await startMailbox();
    const emailLineId = await createLine(app, workspaceId, 'email');
    const config = { url: app.smtpUrl, imapUrl: mailbox.url };
    await eventually(
      async () =>
        (await api('PUT', `/api/lines/${emailLineId}/carrier`, { provider: 'smtp', config })).status === 200,
    );
    const reader = mailboxReaderId(emailLineId);
    await eventually(async () => (await stateOf(reader)).state === 'waiting');
    expect((await stateOf(reader)).reason).toBe('a worker reads the inbox every 1 seconds');
    const before = await activitiesOf(app, reader);

    for (let n = 0; n < 3; n += 1) {
      const sender = `${newId()}@example.com`;
      const headers = { From: sender, To: 'dana@line.example', 'Message-ID': `<${newId()}@their.example>` };
      mailbox.deliver(headers, 'I have a question');
      await eventually(async () =>
        (await api('GET', `/api/conversations/${encodeURIComponent(sender)}`)).body.messages?.some(
          ({ direction }: { direction: string }) => direction === 'in',
        ),
      );
    }
    // Each of them was found by a poll.
    expect((await activitiesOf(app, reader)).length - before.length).toBeLessThan(3);

    mailbox.refuseLogins(true);
    await eventually(async () => (await stateOf(reader)).state === 'blocked');
    expect((await stateOf(reader)).reason).toMatch(/^the inbox could not be read since 2/);
    mailbox.refuseLogins(false);
    await eventually(async () => (await stateOf(reader)).state === 'waiting');
    await mailbox.stop();
  });

  it('that does not answer delays no other', async () => {
    const hanging = await startMailbox();
    const other = await startMailbox();
    const { port, username, password, pathname } = new URL(hanging.url);
    const hole = await startBlackHole('127.0.0.1', Number(port));
    const through = `imap://${username}:${password}@127.0.0.1:${hole.port}${pathname}`;
    for (const url of [through, other.url]) {
      const id = await createLine(app, workspaceId, 'email');
      const config = { url: app.smtpUrl, imapUrl: url };
      await eventually(
        async () =>
          (await api('PUT', `/api/lines/${id}/carrier`, { provider: 'smtp', config })).status === 200,
      );
    }
    hole.swallow({ andNew: true });
    const sender = `${newId()}@example.com`;
    other.deliver({ From: sender, To: 'dana@line.example', 'Message-ID': `<${newId()}@x.example>` }, 'Hi');
    await eventually(
      async () => (await api('GET', `/api/conversations/${encodeURIComponent(sender)}`)).status === 200,
      20_000,
    );
    await hole.close();
    await Promise.all([hanging, other].map((box) => box.stop()));
  });
});

test('in an empty Temporal every workflow starts, also one that waits without a timer', async () => {
  await api('POST', `/api/lines/${lineId}/pause`);
  const pacer = linePacerId(lineId);
  await eventually(async () => (await stateOf(pacer)).state === 'paused');
  await app.stopWorker();

  const namespace = `new-${newId()}`;
  await registerNamespace(app.temporal.connection, namespace);
  const config = { ...app.config, temporal: { ...app.config.temporal, namespace } };
  const worker = await startWorker(config, { codePath: inject('workflowBundle') });
  const temporal = createTemporalClient(config.temporal);
  await eventually(async () => {
    const { state } = await temporal.workflow.getHandle(pacer).query<{ state: string }>('status');
    return state === 'paused';
  });
  await worker.stop();
  await temporal.connection.close();
});
