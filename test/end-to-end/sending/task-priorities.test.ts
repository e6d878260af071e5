import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { signalWorkflow } from '#providers/temporal.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';
import { linePacerId, listDeletionId } from '#workflows/protocol/workflow-ids.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());

const MANY = 40;
const FEW = 8;

/** Takes the tasks as a worker would. @returns the ids of their workflows, in order. */
async function takeTasks(count: number): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < count) {
    const { workflowExecution } = await app.temporal.withDeadline(Date.now() + 70_000, () =>
      app.temporal.workflowService.pollWorkflowTaskQueue({
        namespace: app.config.temporal.namespace,
        taskQueue: { name: MAIN_QUEUE },
        identity: 'test',
      }),
    );
    const id = workflowExecution?.workflowId;
    if (id) taken.push(id);
  }
  return taken;
}

test('tasks of a workspace overtake the backlog of another, and housekeeping waits for both', async () => {
  const [busy, quiet] = [`org_${newId()}`, `org_${newId()}`];
  const ids = (length: number, idOf: (id: string) => string) => Array.from({ length }, () => idOf(newId()));
  const started = {
    housekeeping: ids(FEW, listDeletionId),
    backlog: ids(MANY, linePacerId),
    late: ids(FEW, linePacerId),
  };
  for (const id of started.housekeeping) await signalWorkflow(app.temporal, id, quiet, 'requested');
  for (const id of started.backlog) await signalWorkflow(app.temporal, id, busy, 'messagesDue');
  for (const id of started.late) await signalWorkflow(app.temporal, id, quiet, 'messagesDue');

  const order = await takeTasks(MANY + 2 * FEW);
  // Temporal keeps an order within each partition of a queue, and takes from them at random.
  const place = (tasks: string[]) => tasks.reduce((sum, id) => sum + order.indexOf(id), 0) / tasks.length;
  expect(place(started.late)).toBeLessThan(place(started.backlog));
  expect(place(started.housekeeping)).toBeGreaterThan(place(started.backlog));
});
