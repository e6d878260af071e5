import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withSystem } from '#db/connection/transactions.ts';
import { createTaskQueues } from '#providers/task-queues.ts';
import { signalWorkflow } from '#providers/temporal.ts';
import { startTelnyx } from '#simulator/telnyx.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { startWorker } from '#workers/worker.ts';
import { STATE, WORKSPACE_ID } from '#workflows/protocol/search-attributes.ts';
import { statusQuery } from '#workflows/protocol/queries.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';
import { activitiesOf } from '#test/support/workflows.ts';

let twilio: TwilioStandIn;
/** Its worker does not serve the task queue of Twilio. */
let app: OwnApp;
let agencyId: string;
let agency: ApiClient;
/** A client with the session of the agency's owner. */
let owner: ApiClient;
let workspace: TestWorkspace;
let api: ApiClient;

beforeAll(async () => {
  twilio = await startTwilio(TWILIO_ACCOUNT);
  app = await startTestApp({
    environment: { WORKER_QUEUES: 'main,webhooks,mail,carrier-simulated,carrier-bluebubbles' },
  });
  const { id, key, ownerId } = await createAgency(app);
  agencyId = id;
  agency = apiClient(app.url, key);
  owner = await sessionClient(app, { userId: ownerId });
  workspace = await createWorkspace(app, { agency_id: agencyId });
  api = apiClient(app.url, workspace.key);
});
afterAll(async () => {
  await app.stop();
  await twilio.stop();
});

const connect = async (lineId: string) => {
  const config = { accountSid: TWILIO_ACCOUNT.sid, authToken: TWILIO_ACCOUNT.authToken, baseUrl: twilio.url };
  const { status } = await api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'twilio', config });
  expect(status).toBe(200);
};
async function send(fromLineId: string, recipientPhone = phone()): Promise<string> {
  const message = { message: 'Hello', messageType: 'sms', fromLineId, recipientPhone };
  expect((await api('POST', '/api/messages', message)).status).toBe(201);
  return recipientPhone;
}
const setCarrier = (lineId: string, carrier: string) =>
  withSystem(app.pools, (db) =>
    db.query(sql.type(z.unknown())`update lines set carrier = ${carrier} where id = ${lineId}`),
  );
const pacer = (lineId: string) => app.temporal.workflow.getHandle(linePacerId(lineId));
const wake = (lineId: string) =>
  signalWorkflow(app.temporal, linePacerId(lineId), workspace.id, 'messagesDue');
const activities = (lineId: string) => activitiesOf(app, linePacerId(lineId));
/** The current details, as operators see them. */
const details = async (lineId: string) =>
  JSON.stringify(await pacer(lineId).query('__temporal_workflow_metadata'));

// They wait for half a minute or more, for different carriers.
describe.concurrent('the pacer of a line whose task no worker takes', () => {
  it('waits until the line has a carrier and the carrier has a worker, then sends', async () => {
    const lineId = await createLine(app, workspace.id, 'sms', { carrier: 'none' });
    await api('PATCH', `/api/lines/${lineId}`, { firstName: 'Renamed' });
    await wake(lineId);
    await eventually(async () => (await details(lineId)).includes('not connected to a carrier'));

    const to = await send(lineId);
    await connect(lineId);
    await eventually(async () => {
      const { raw } = await pacer(lineId).describe();
      return raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'sendDue');
    });
    await eventually(
      async () => (await details(lineId)).includes('no worker takes tasks of the queue carrier-twilio'),
      60_000,
    );
    expect((await pacer(lineId).describe()).typedSearchAttributes.get(STATE)).toBe('waiting');
    expect(twilio.sent.filter((message) => message.to === to)).toEqual([]);

    const worker = await startWorker({ ...app.config, worker: { names: ['carrier-twilio'], slots: {} } });
    await eventually(async () => twilio.sent.some((message) => message.to === to));
    await worker.stop();
    expect(twilio.sent.filter((message) => message.to === to)).toHaveLength(1);
  });

  it('follows its line to another carrier if no worker serves the first', async () => {
    const lineId = await createLine(app, workspace.id, 'sms', { carrier: 'smtp' });
    const to = await send(lineId);
    await eventually(async () => (await pacer(lineId).describe()).raw.pendingActivities?.length === 1);
    await setCarrier(lineId, 'simulated');
    await eventually(async () => (await sentTo(app, to)).length === 1);
  });

  it('is tried less and less often while no worker serves its carrier, and at once when it changes', async () => {
    const lineId = await createLine(app, workspace.id, 'sms', { carrier: 'smtp' });
    const to = await send(lineId);
    await eventually(async () => {
      const { state, until } = await pacer(lineId).query(statusQuery);
      return state === 'waiting' && until !== null && Date.parse(until) > Date.now() + 10_000;
    }, 90_000);
    await setCarrier(lineId, 'simulated');
    await api('PATCH', `/api/lines/${lineId}`, { firstName: 'Renamed' });
    // The task that waits for a worker of the former queue is given up after half a minute.
    await eventually(async () => (await sentTo(app, to)).length === 1, 50_000);
  }, 150_000);

  it('says that all workers are busy, and keeps its place in the queue', async () => {
    const telnyx = await startTelnyx('KEY1');
    // Its requests count for no other test.
    const { id, key } = await createWorkspace(app);
    const call = apiClient(app.url, key);
    const worker = await startWorker({
      ...app.config,
      worker: { names: ['carrier-telnyx'], slots: { 'carrier-telnyx': 1 } },
    });
    const lineOf = async (gap: number): Promise<string> => {
      const lineId = await createLine(app, id, 'sms', {
        min_gap_seconds: gap,
        contact_gap_seconds: 0,
      });
      telnyx.numbers.set((await call('GET', `/api/lines/${lineId}`)).body.line.phone, 'profile-1');
      const config = { apiKey: 'KEY1', publicKey: telnyx.publicKey, baseUrl: telnyx.url };
      expect(await call('PUT', `/api/lines/${lineId}/carrier`, { provider: 'telnyx', config })).toMatchObject(
        {
          status: 200,
        },
      );
      return lineId;
    };
    const post = (fromLineId: string, recipientPhone: string) =>
      call('POST', '/api/messages', { message: 'Hello', messageType: 'sms', fromLineId, recipientPhone });
    const taskQueues = createTaskQueues(app.temporal.connection, app.config.temporal.namespace);
    const age = async (): Promise<number> =>
      (await taskQueues.stateOf('carrier-telnyx', 'activity')).backlogAge;
    try {
      // It waits out its short gaps on the only slot, for two minutes.
      const busyLine = await lineOf(2);
      for (let count = 0; count < 45; count += 1) await post(busyLine, phone());
      await eventually(async () => (await pacer(busyLine).describe()).raw.pendingActivities?.length === 1);
      const lineId = await lineOf(0);
      const to = phone();
      await post(lineId, to);
      await eventually(
        async () => (await details(lineId)).includes('all workers of the queue carrier-telnyx are busy'),
        60_000,
      );
      // `LinepaceTasksWait` sees it wait.
      await eventually(async () => (await age()) > 1);
      expect((await call('POST', `/api/lines/${busyLine}/pause`, {})).status).toBe(200);
      await eventually(async () => telnyx.sent.some((message) => message.to === to));
    } finally {
      await worker.stop();
      await telnyx.stop();
    }
  }, 180_000);
});

describe('the pacer of a line', () => {
  it('sends the message that it starts for, and others that come alone, within its workflow task', async () => {
    const lineId = await createLine(app, workspace.id, 'sms');
    for (const sent of [1, 2]) {
      const to = await send(lineId);
      await eventually(async () => (await sentTo(app, to)).length === 1);
      await eventually(async () => (await activities(lineId)).length === sent);
    }
    expect(await activities(lineId)).toEqual(['sendAtOnce', 'sendAtOnce']);
  });

  it('leaves many messages that may leave at once to an activity', async () => {
    const lineId = await createLine(app, workspace.id, 'sms');
    expect((await api('POST', `/api/lines/${lineId}/pause`, {})).status).toBe(200);
    const recipients = await Promise.all(Array.from({ length: 6 }, () => send(lineId)));
    expect((await api('POST', `/api/lines/${lineId}/resume`, {})).status).toBe(200);
    for (const to of recipients) await eventually(async () => (await sentTo(app, to)).length === 1);
    const done = await eventually(async () => {
      const all = await activities(lineId);
      return all.includes('sendDue') && all;
    });
    expect(done[done.indexOf('sendDue') - 1]).toBe('sendAtOnce');
  });

  it('leaves the lines of a carrier that is slow to activities for a while', async () => {
    const [slowLine, line] = [
      await createLine(app, workspace.id, 'sms'),
      await createLine(app, workspace.id, 'sms'),
    ];
    const late = await send(slowLine, phone('0009'));
    await eventually(async () => (await activities(slowLine)).includes('sendDue'));
    const to = await send(line);
    await eventually(async () => (await sentTo(app, to)).length === 1);
    expect((await activities(line)).slice(0, 2)).toEqual(['sendAtOnce', 'sendDue']);

    await eventually(async () => {
      const { body } = await api('GET', `/api/messages?lineId=${slowLine}`);
      return body.messages[0].status === 'delivered';
    });
    expect(await sentTo(app, late)).toHaveLength(1);
  });

  it('continues as new before its history grows long', async () => {
    const lineId = await createLine(app, workspace.id, 'sms');
    await wake(lineId);
    const { runId } = await pacer(lineId).describe();
    await eventually(async () => {
      await wake(lineId);
      return (await pacer(lineId).describe()).runId !== runId;
    });
    const to = await send(lineId);
    await eventually(async () => (await sentTo(app, to)).length === 1);
  });

  it('is started again by the next message after an operator canceled it', async () => {
    const lineId = await createLine(app, workspace.id, 'sms');
    await wake(lineId);
    await eventually(async () => (await details(lineId)).includes('Idle'));
    await pacer(lineId).cancel();
    await eventually(async () => (await pacer(lineId).describe()).status.name === 'CANCELLED');
    const to = await send(lineId);
    await eventually(async () => (await sentTo(app, to)).length === 1);
  });

  it('ends when its line is deleted', async () => {
    const lineId = await createLine(app, workspace.id, 'sms');
    await wake(lineId);
    await eventually(async () => (await details(lineId)).includes('Idle'));
    expect((await owner('POST', '/api/agency/lines', { action: 'delete', lineId })).status).toBe(200);
    await wake(lineId);
    await pacer(lineId).result();
    expect((await pacer(lineId).describe()).status.name).toBe('COMPLETED');
  });

  it('has the search attribute of the workspace that its line has moved to', async () => {
    const target = await createWorkspace(app, { agency_id: agencyId });
    const lineId = await createLine(app, workspace.id, 'sms');
    await wake(lineId);
    await eventually(async () => (await details(lineId)).includes('Idle'));
    const transfer = { action: 'transfer', lineId, targetWorkspaceId: target.id };
    expect((await agency('POST', '/api/agency/lines', transfer)).status).toBe(200);
    await wake(lineId);
    await eventually(async () => {
      const { typedSearchAttributes } = await pacer(lineId).describe();
      return typedSearchAttributes.get(WORKSPACE_ID) === target.id;
    });
  });

  it('takes its turn among the tasks of the workspace that its line has moved to', async () => {
    const target = await createWorkspace(app, { agency_id: agencyId });
    const ofTarget = apiClient(app.url, target.key);
    const lineId = await createLine(app, workspace.id, 'sms');
    await send(lineId);
    await eventually(async () => (await details(lineId)).includes('Idle'));
    const transfer = { action: 'transfer', lineId, targetWorkspaceId: target.id };
    expect((await agency('POST', '/api/agency/lines', transfer)).status).toBe(200);
    expect((await ofTarget('POST', `/api/lines/${lineId}/pause`, {})).status).toBe(200);
    for (let count = 0; count < 6; count += 1)
      await ofTarget('POST', '/api/messages', {
        message: 'Hello',
        recipientPhone: phone(),
        fromLineId: lineId,
      });
    expect((await ofTarget('POST', `/api/lines/${lineId}/resume`, {})).status).toBe(200);
    await eventually(async () => {
      const { events } = await pacer(lineId).fetchHistory();
      const tasks = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: task }) => task ?? []);
      return tasks.at(-1)?.priority?.fairnessKey === target.id;
    }, 30_000);
  });

  it('receives signals named after what happened, and plans again on any other signal', async () => {
    const lineId = await createLine(app, workspace.id, 'sms');
    await send(lineId);
    await api('PATCH', `/api/lines/${lineId}`, { firstName: 'Renamed' });
    const signals = async () =>
      ((await pacer(lineId).fetchHistory()).events ?? []).flatMap(
        ({ workflowExecutionSignaledEventAttributes: signaled }) => signaled?.signalName ?? [],
      );
    await eventually(async () => (await signals()).length === 2);
    expect(await signals()).toEqual(expect.arrayContaining(['messagesDue', 'lineChanged']));

    await eventually(async () => (await details(lineId)).includes('Idle'));
    // As a process of another version may.
    const before = await activities(lineId);
    await pacer(lineId).signal('unknown');
    await eventually(async () => (await activities(lineId)).length > before.length);
  });

  it('waits for work without a timer, and does not end', async () => {
    const lineId = await createLine(app, workspace.id, 'sms');
    await wake(lineId);
    await eventually(async () => (await details(lineId)).includes('Idle'));
    const { events } = await pacer(lineId).fetchHistory();
    expect((events ?? []).flatMap(({ timerStartedEventAttributes: timer }) => timer ?? [])).toEqual([]);
    expect((await pacer(lineId).describe()).status.name).toBe('RUNNING');
  });
});
