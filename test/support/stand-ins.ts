import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { inject } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';
import { registerNamespace } from './app.ts';

/**
 * Runs the product's workflows with other activities, in a namespace of their own. Nothing serves the task queues besides the
 * main one.
 */
export async function withStandIns(
  activities: Record<string, (input: never) => Promise<unknown>>,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const namespace = `test-${newId()}`;
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  await registerNamespace(connection, namespace);
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: MAIN_QUEUE,
    workflowBundle: { codePath: inject('workflowBundle') },
    activities,
    // A failed test leaves activities that wait.
    shutdownForceTime: '1s',
  });
  await worker.runUntil(() => work(new Client({ connection, namespace })));
  await connection.close();
}
