import { setTimeout as pause } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import { systemDb } from '#db/pool.ts';
import { lineHome } from '#db/queries/workspaces.ts';
import { NO_CARRIER } from '#domain/line.ts';
import { carrierQueue } from '#workflows/messages/task-queues.ts';
import type { Round } from '#workflows/work-loop.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { createSender } from './sender.ts';
import { createVoiceNotes } from './voice-notes.ts';

/** A round ends after this, however much is left: an activity that goes on for ever tells the operator nothing. */
const ROUND_MS = 45_000;
/** A shorter wait than this is slept here: a timer costs an action and is no finer than a second. */
const SHORT_WAIT_MS = 3000;

export function createSendActivities(dependencies: Dependencies) {
  const { pools, logger } = dependencies;
  const sender = createSender(dependencies);
  const voiceNotes = createVoiceNotes(dependencies);

  return {
    /** Which carrier's task queue serves a line. */
    async findCarrier({ lineId }: { workspaceId: string; lineId: string }): Promise<string> {
      const home = await lineHome(systemDb(pools), lineId);
      return home?.carrier ?? NO_CARRIER;
    },

    /** Sends what a line may send, until nothing more is due in the next moments. */
    async sendDue({ lineId }: { workspaceId: string; lineId: string }): Promise<Round> {
      const home = await lineHome(systemDb(pools), lineId);
      if (!home) return { nextAt: null, reason: 'the line was deleted' };
      // The pacer begins anew, at the queue of the carrier that the line was connected to meanwhile.
      if (activityInfo().taskQueue !== carrierQueue(home.carrier))
        return { nextAt: null, reason: 'the line is at another carrier now', ended: true };
      return withHeartbeat(async (canceled) => {
        const line = { ...home, lineId };
        const end = Date.now() + ROUND_MS;
        let askAt: Date | null = null;
        while (!canceled.aborted) {
          await voiceNotes.prepare(line);
          const plan = await sender.plan(line);
          if (!plan) return { nextAt: null, reason: 'the line is no longer in this workspace' };
          const sent = await sender.send(line, plan);
          if (!plan.hasOpenAttempts) askAt = null;
          else if (askAt === null || askAt.getTime() <= Date.now()) askAt = await sender.reconcile(line);
          const nextAt = earliest(plan.nextAt, earliest(sent.retryAt, askAt));
          if (nextAt === null) return { nextAt: null, reason: plan.reason };
          const wait = nextAt.getTime() - Date.now();
          if (wait > SHORT_WAIT_MS || Date.now() + Math.max(0, wait) > end) {
            return { nextAt: nextAt.toISOString(), reason: plan.reason };
          }
          if (wait > 0) await pause(wait);
        }
        logger.info({ lineId }, 'round cut short');
        return { nextAt: new Date().toISOString(), reason: 'more may be due' };
      });
    },
  };
}

const earliest = (a: Date | null, b: Date | null): Date | null =>
  a === null || (b !== null && b < a) ? b : a;
