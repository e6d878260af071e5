import { setTimeout as pause } from 'node:timers/promises';
import { earliest } from '#domain/earliest.ts';
import { linePacerId } from '#workflows/messages/wake.ts';
import type { LineRound } from '#workflows/messages/round.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { findHome, type LineAtCarrier, lineRound } from './line-home.ts';
import { createSender } from './sender.ts';
import { createVoiceNotes } from './voice-notes.ts';

/** A round ends after this, however much is left: an activity that goes on for ever tells the operator nothing. */
const ROUND_MS = 45_000;
/** A shorter wait than this is slept here: a timer costs an action and is no finer than a second. */
const SHORT_WAIT_MS = 3000;

interface LineInput {
  workspaceId: string;
  lineId: string;
}

export function createSendActivities(dependencies: Dependencies) {
  const { pools, logger } = dependencies;
  const sender = createSender(dependencies);
  const voiceNotes = createVoiceNotes(dependencies);

  function send(line: LineAtCarrier): Promise<LineRound> {
    return withHeartbeat(async (canceled) => {
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
        if (nextAt === null) return { nextAt: null, reason: plan.reason, isPaused: plan.isPaused };
        const wait = nextAt.getTime() - Date.now();
        if (wait > SHORT_WAIT_MS || Date.now() + Math.max(0, wait) > end) {
          return { nextAt: nextAt.toISOString(), reason: plan.reason, isPaused: plan.isPaused };
        }
        if (wait > 0) await pause(wait);
      }
      logger.info({ lineId: line.lineId }, 'round cut short');
      return { nextAt: new Date().toISOString(), reason: 'more may be due' };
    });
  }

  return {
    /** Which carrier's workers serve a line; null: it is not connected to any. */
    async findCarrier({ lineId }: LineInput): Promise<string | null> {
      return (await findHome(pools, lineId))?.carrier ?? null;
    },

    /** Sends what a line may send, until nothing more is due in the next moments. */
    async sendDue(line: LineInput): Promise<LineRound> {
      return lineRound(pools, line, linePacerId(line.lineId), send, { endsUnconnected: false });
    },
  };
}
