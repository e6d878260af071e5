import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '#domain/ids.ts';
import { signalWorkflow } from '#providers/temporal.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { MAIN_QUEUE } from '#workflows/messages/task-queues.ts';
import { linePacerId, listDeletionId } from '#workflows/messages/wake.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());

const MANY = 40;

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
  const housekeeping = listDeletionId(newId());
  await signalWorkflow(app.temporal, housekeeping, quiet, 'requested');
  for (let started = 0; started < MANY; started += 1)
    await signalWorkflow(app.temporal, linePacerId(newId()), busy, 'messagesDue');
  const late = linePacerId(newId());
  await signalWorkflow(app.temporal, late, quiet, 'messagesDue');

  const order = await takeTasks(MANY + 2);
  expect(order.indexOf(late)).toBeLessThan(MANY / 2);
  expect(order.indexOf(housekeeping)).toBeGreaterThan(MANY / 2);
}, 120_000);
