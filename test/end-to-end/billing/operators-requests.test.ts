import { Context } from '@temporalio/activity';
import { type Client, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { updateWorkflow } from '#providers/temporal.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { createWorkspace } from '#test/support/factories.ts';
import { ask, auditOf, DANA, refusalOf } from '#test/support/operators.ts';
import { LINE_REQUESTS, pay, requestStatus } from '#test/support/payments.ts';
import { withStandIns } from '#test/support/stand-ins.ts';
import { signalsOf } from '#test/support/workflows.ts';
import { startWorker } from '#workers/worker.ts';
import { statusQuery } from '#workflows/protocol/queries.ts';
import { MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';
import { checkPayment, giveUp } from '#workflows/protocol/updates.ts';
import { lineRequestId } from '#workflows/protocol/workflow-ids.ts';

const NAME = { firstName: 'Ada', lastName: 'Lovelace' };

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp();
});

const workflow = (id: string) => app.temporal.workflow.getHandle(lineRequestId(id));

/** Creates a request that waits for its payment. */
async function requestAwaitingPayment() {
  const { api, id: workspaceId } = await createWorkspace(app);
  for (;;) {
    const { status, body } = await api('POST', LINE_REQUESTS, NAME);
    expect(status).toBe(201);
    const id: string = body.line._id;
    if (body.paymentRequired) {
      // Its workflow starts after the response.
      await eventually(() =>
        workflow(id)
          .describe()
          .catch(() => null),
      );
      return { api, workspaceId, id, paymentUrl: String(body.paymentUrl) };
    }
    await eventually(async () => (await requestStatus(api, id)) === 'active');
  }
}

describe('the workflow of a line request', () => {
  it('shows its progress in its signals, state and result', async () => {
    const { api, id, paymentUrl } = await requestAwaitingPayment();
    // A look that finds the request changed is followed by another.
    await eventually(async () => {
      const { state, reason } = await workflow(id).query(statusQuery);
      return state === 'awaiting_payment' && reason === 'its invoice is not paid yet';
    });
    await pay(paymentUrl);
    await eventually(async () => (await requestStatus(api, id)) === 'active');
    expect(await workflow(id).result()).toBe('the request is active');
    expect(await signalsOf(app, lineRequestId(id))).toEqual(
      expect.arrayContaining(['requested', 'paymentSettled']),
    );
  });

  it('fails if the carrier refuses the line', async () => {
    const { api } = await createWorkspace(app);
    const { body } = await api('POST', LINE_REQUESTS, { ...NAME, areaCode: '0002' });
    const id: string = body.line._id;
    await eventually(async () => (await requestStatus(api, id)) === 'failed');
    const failure: unknown = await workflow(id)
      .result()
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(WorkflowFailedError);
    expect((failure as WorkflowFailedError).cause).toMatchObject({ type: 'LINE_FAILED' });
  });
});

describe('a request whose provisioning begins again', () => {
  it('has half an hour, also in a run that follows one with an earlier deadline', async () => {
    const [former, home] = [newId(), newId()];
    let isConnected = false;
    const activities = {
      async lookAtLineRequest({ workspaceId }: { workspaceId: string }) {
        const status = isConnected ? 'provisioning' : 'unconnected';
        return { status, owes: false, ...(isConnected && workspaceId === former && { home }) };
      },
      // Until the worker stops, which could not stop otherwise.
      allocateLine: () => Context.current().cancelled,
    };
    await withStandIns(activities, async (client) => {
      const id = newId();
      await client.workflow.start('lineRequest', {
        args: [{ workspaceId: former, subjectId: id, provisionUntil: Date.now() }],
        taskQueue: MAIN_QUEUE,
        workflowId: lineRequestId(id),
      });
      const request = client.workflow.getHandle(lineRequestId(id));
      await eventually(async () => (await request.query(statusQuery)).reason.includes('connected it'));
      isConnected = true;
      await request.signal('connected');
      const seconds = await eventually(async () => {
        const { events } = await request.fetchHistory();
        const [task] = (events ?? []).flatMap(
          ({ activityTaskScheduledEventAttributes: scheduled }) =>
            (scheduled?.activityType?.name === 'allocateLine' && scheduled) || [],
        );
        return task && Number(task.scheduleToCloseTimeout?.seconds);
      });
      expect(seconds).toBe(30 * 60);
      await request.terminate();
    });
  });
});

describe('checking a payment', () => {
  it('asks the provider at once, and is refused when no payment is pending', async () => {
    const { api, workspaceId, id, paymentUrl } = await requestAwaitingPayment();
    const check = () => ask(app.temporal, lineRequestId(id), checkPayment, DANA);
    expect(await check()).toEqual({ lineId: id, status: 'awaiting_payment' });
    await pay(paymentUrl);
    await eventually(async () => (await requestStatus(api, id)) === 'active');
    const target = { workflowId: lineRequestId(id), workspaceId };
    const refused = await refusalOf(updateWorkflow(app.temporal, target, checkPayment, DANA));
    expect(refused).toMatchObject({ type: 'INVALID_STATE' });
    expect(await auditOf(app, workspaceId)).toEqual([`Dana: line_request.payment_checked ${id} maintenance`]);
  });
});

describe('giving up a line request', () => {
  it('ends its provisioning, and is refused in other states', async () => {
    const { api, id: workspaceId } = await createWorkspace(app);
    // No worker serves the carrier's task queue.
    await app.stopWorker();
    const { body } = await api('POST', LINE_REQUESTS, NAME);
    const id: string = body.line._id;
    const config = { ...app.config, worker: { names: ['main', 'payments'], slots: {} } };
    const worker = await startWorker(config, { codePath: inject('workflowBundle') });
    await eventually(async () =>
      (await workflow(id).describe()).raw.pendingActivities?.some(
        ({ activityType }) => activityType?.name === 'allocateLine',
      ),
    );
    const order = () =>
      updateWorkflow(app.temporal, { workflowId: lineRequestId(id), workspaceId }, giveUp, DANA);
    expect(await order()).toEqual({ lineId: id, status: 'failed' });
    await expect(workflow(id).result()).rejects.toThrow(WorkflowFailedError);
    expect(await requestStatus(api, id)).toBe('failed');
    // Giving up again changes nothing.
    expect(await order()).toEqual({ lineId: id, status: 'failed' });
    expect(await auditOf(app, workspaceId)).toEqual([`Dana: line_request.given_up ${id} maintenance`]);
    await worker.stop();
    await app.startWorker();
    const other = await requestAwaitingPayment();
    const refused = await refusalOf(ask(app.temporal, lineRequestId(other.id), giveUp, DANA));
    expect(refused.type).toBe('INVALID_STATE');
    expect(await requestStatus(other.api, other.id)).toBe('awaiting_payment');
  });

  /** A request whose line becomes healthy while an operator gives it up. @param giveUpLine called once the line is healthy. */
  async function raceWithHealth(
    giveUpLine: (request: { status: string }) => void,
    expectation: (race: {
      client: Client;
      request: WorkflowHandle;
      order: Promise<unknown>;
      isPending: (activity: string) => Promise<unknown>;
      isBilled: () => boolean;
    }) => Promise<void>,
  ): Promise<void> {
    const [healthy, decided] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const state = { status: 'provisioning' };
    let isBilled = false;
    const activities = {
      lookAtLineRequest: async () => ({ ...state, owes: false }),
      allocateLine: async () => {},
      configureInbound: async () => {},
      probeNewLine: () => healthy.promise,
      giveUpLine: async () => {
        await decided.promise;
        giveUpLine(state);
      },
      async addLineToAgencyInvoice() {
        isBilled = true;
        await new Promise(() => {});
      },
    };
    await withStandIns(activities, async (client) => {
      const id = newId();
      const request = await client.workflow.start('lineRequest', {
        args: [{ workspaceId: newId(), subjectId: id }],
        taskQueue: MAIN_QUEUE,
        workflowId: lineRequestId(id),
      });
      const pending = async () =>
        ((await request.describe()).raw.pendingActivities ?? []).map(
          ({ activityType }) => activityType?.name,
        );
      const isPending = (activity: string) => eventually(async () => (await pending()).includes(activity));
      await isPending('probeNewLine');
      const order = ask(client, lineRequestId(id), giveUp, DANA);
      await isPending('giveUpLine');
      healthy.resolve();
      await eventually(async () => !(await pending()).includes('probeNewLine'));
      // Answered after the workflow has gone on from there.
      await request.query(statusQuery);
      expect(await pending()).toEqual(['giveUpLine']);
      decided.resolve();
      await expectation({ client, request, order, isPending, isBilled: () => isBilled });
    });
  }

  it('keeps its line from being billed', async () => {
    const accept = (request: { status: string }): void => void (request.status = 'failed');
    await raceWithHealth(accept, async ({ request, order, isBilled }) => {
      await order;
      await expect(request.result()).rejects.toThrow(WorkflowFailedError);
      expect(isBilled()).toBe(false);
    });
  });

  it('is refused once its line is billed', async () => {
    const refuse = (): void => {
      throw ApplicationFailure.nonRetryable('There is no such request', 'NOT_FOUND');
    };
    await raceWithHealth(refuse, async ({ client, request, order, isPending }) => {
      expect(await refusalOf(order)).toMatchObject({ type: 'NOT_FOUND' });
      await isPending('addLineToAgencyInvoice');
      expect(await refusalOf(ask(client, request.workflowId, giveUp, DANA))).toMatchObject({
        type: 'INVALID_STATE',
      });
      await request.terminate();
    });
  });
});
