import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Pools } from '#db/connection/pools.ts';
import {
  countFailure,
  type FailingWork,
  findFailing,
  forgetFailures,
} from '#db/queries/operations/set-aside.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { mayTry, reasonOf, TRIED_EVERY_MS } from '#domain/base/set-aside.ts';

/** Before, a failure is nothing that operators need to see: most are over at the next attempt. */
const COUNTED_FROM = 3;

/**
 * Sets aside what always fails: activities are retried until they succeed, so without this a model or a carrier would be asked for
 * ever, and nobody told.
 */
export function setsAside(pools: Pools, logger: Logger): ActivityInterceptorsFactory {
  const db = systemDb(pools);
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        const [subject] = input.args;
        const work = workOf(info, subject);
        if (!work || info.attempt < COUNTED_FROM) return next(input);
        const failing = await findFailing(db, work);
        if (failing?.setAsideAt && !mayTry(failing, new Date())) throw waiting(work);
        let result: unknown;
        try {
          result = await next(input);
        } catch (error) {
          if (error instanceof TemporalFailure || isAbort(error)) throw error;
          const reason = reasonOf(error);
          const counted = await countFailure(db, work, { subject: subject as object, reason });
          if (!counted.setAsideAt) throw error;
          logger.error({ error, ...work, failures: counted.failures }, 'work that always fails is set aside');
          throw waiting(work);
        }
        if (failing) await forgetFailures(db, work);
        return result;
      },
    },
  });
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

/** Every activity for one workspace names it in its first argument. @returns null for others. */
function workOf(
  {
    activityType: activity,
    workflowExecution,
  }: { activityType: string; workflowExecution?: { workflowId: string } },
  subject: unknown,
): FailingWork | null {
  const { workspaceId } = (subject ?? {}) as { workspaceId?: unknown };
  if (typeof workspaceId !== 'string' || !workflowExecution) return null;
  return { workspaceId, workflowId: workflowExecution.workflowId, activity: activity };
}

const waiting = ({ activity }: FailingWork): ApplicationFailure =>
  ApplicationFailure.create({
    message: `${activity} always fails and is set aside; see "npm run ops -- set-aside"`,
    type: 'SetAside',
    nextRetryDelay: TRIED_EVERY_MS,
  });
