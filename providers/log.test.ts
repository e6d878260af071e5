import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLogger } from './log.ts';
import { inLogContext } from './log-context.ts';

test('names in every line the request or the task that it is about, and in no other', async () => {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const logger = createLogger('test', 'info', { write });
  await Promise.all([
    inLogContext({ requestId: 'r1' }, async () => {
      await pause(1);
      logger.info({ route: 'drip' }, 'in a request');
      logger.info('in the same request');
    }),
    inLogContext(
      { workflowId: 'line-pacer:1', activityType: 'sendDue', attempt: 2, workspaceId: undefined },
      async () => {
        await pause(1);
        logger.warn({ workflowId: 'its own' }, 'in an activity');
      },
    ),
  ]);
  logger.info('outside');
  expect(lines.find(({ msg }) => msg === 'in a request')).toMatchObject({ requestId: 'r1', route: 'drip' });
  expect(lines.find(({ msg }) => msg === 'in the same request')).not.toHaveProperty('route');
  expect(lines.find(({ msg }) => msg === 'in an activity')).toMatchObject({
    workflowId: 'its own',
    activityType: 'sendDue',
    attempt: 2,
  });
  expect(lines.find(({ msg }) => msg === 'outside')).not.toHaveProperty('requestId');
});
