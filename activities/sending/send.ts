import { cancellationSignal } from '@temporalio/activity';
import { currentTime } from '#domain/base/clock.ts';
import { earliest } from '#domain/base/earliest.ts';
import { createTaskQueues } from '#providers/task-queues.ts';
import type { Status } from '#workflows/protocol/queries.ts';
import type { LineLocation, LineRound } from '#workflows/protocol/round.ts';
import { lineQueue } from '#workflows/protocol/task-queues.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import type { Dependencies } from '../dependencies.ts';
import { createInTaskRounds } from './in-task-rounds.ts';
import type { RoundWaits } from './gap-waits.ts';
import { withHeartbeat } from '../base/heartbeat.ts';
import { findLocation, type LineAtCarrier, lineRound } from '../lines/line-location.ts';
import { dueNow, roundOf } from '../base/round.ts';
import type { SendPlan } from '#db/commands/sending/send-plan.ts';
import { createSender } from './sender.ts';
import { createVoiceNotes } from './voice-notes.ts';

/** A round ends after this time, however much is left: an activity that never ends tells an operator nothing. */
const ROUND_MS = 120_000;
/** A round within a workflow task ends after this time, because it blocks the task. */
const IN_TASK_MS = 1000;

interface LineInput {
  workspaceId: string;
  lineId: string;
}

export interface SendInput extends LineInput {
  /**
   * The pacer shows that the line is sending, so the round may wait for the next message. Otherwise the round returns at
   * the first gap, and the pacer shows it.
   */
  isSending?: boolean;
}

export function createSendActivities(dependencies: Dependencies) {
  const { pools, gapWaits, logger, temporal } = dependencies;
  const taskQueues = createTaskQueues(temporal.connection, temporal.options.namespace);
  const sender = createSender(dependencies);
  const voiceNotes = createVoiceNotes(dependencies);
  const inTaskRounds = createInTaskRounds();

  function send(line: LineAtCarrier, input: SendInput): Promise<LineRound>;
  /** @returns null if more is due than a round within a workflow task sends. */
  function send(line: LineAtCarrier, input: SendInput, options: { inTask: true }): Promise<LineRound | null>;
  function send(
    line: LineAtCarrier,
    { workspaceId, isSending = false }: SendInput,
    { inTask = false } = {},
  ): Promise<LineRound | null> {
    let status: Status = { state: 'sending', reason: 'The round plans what to send', until: null };
    const round = async (canceled: AbortSignal): Promise<LineRound | null> => {
      const waits = gapWaits.ofRound({
        taskQueue: lineQueue(line.carrier),
        workspaceId: line.workspaceId,
        taskWorkspaceId: workspaceId,
        workflowId: linePacerId(line.lineId),
        gaps: isSending,
        end: Date.now() + (inTask ? IN_TASK_MS : ROUND_MS),
        canceled,
      });
      const hasEnded = (): boolean => !waits.allows(currentTime());
      let askAt: Date | null = null;
      let hasVoiceNotes = false;
      while (!canceled.aborted) {
        const plan = await sender.plan(line, waits.allows, { hasVoiceNotes, inTask });
        if (plan?.carrier !== line.carrier) return roundOf(dueNow('the line has moved'));
        if (inTask && (plan.isLong || plan.awaitsVoiceNotes)) return null;
        hasVoiceNotes = plan.awaitsVoiceNotes;
        if (plan.awaitsVoiceNotes) {
          await voiceNotes.prepare(line);
          continue;
        }
        const { retryAt } = await sender.send(line, plan, hasEnded);
        if (plan.firstAnswerBy === null) askAt = null;
        else if (askAt === null || askAt.getTime() <= currentTime().getTime())
          askAt = await sender.reconcile(line, hasEnded);
        const nextAt = earliest(plan.nextAt, earliest(retryAt, askAt));
        // The pacer shows that the line is blocked, and waits at a timer.
        const isOver = nextAt === null || (plan.blockedBy !== null && retryAt === null);
        if (isOver || !waits.allows(nextAt)) return endOfRound(plan, nextAt, waits);
        const reason = plan.claims.length > 0 ? 'The next message is planned' : plan.reason;
        status = { state: stateAt(nextAt), reason, until: nextAt.toISOString() };
        await waits.wait(nextAt, plan.requestedBy);
      }
      logger.info({ lineId: line.lineId }, 'round cut short');
      return goesOn('more may be due');
    };
    return withHeartbeat(round, () => status);
  }

  return {
    /** The carrier whose workers serve a line; null: it is not connected to any. */
    async findCarrier({ lineId }: LineInput): Promise<string | null> {
      return (await findLocation(pools, lineId))?.carrier ?? null;
    },

    /** Where a line is served, after no worker took its task in time: the carrier, and whether workers of its queue are only busy. */
    async findService({ lineId }: LineInput): Promise<{ carrier: string | null; isBusy: boolean }> {
      const carrier = (await findLocation(pools, lineId))?.carrier ?? null;
      return { carrier, isBusy: await taskQueues.isPolled(lineQueue(carrier)) };
    },

    /** Sends what a line may send, and waits out the gaps in between, until there is nothing more to do for a while. */
    async sendDue(input: SendInput): Promise<LineRound> {
      return lineRound(pools, input, linePacerId(input.lineId), (line) => send(line, input), {
        endsUnconnected: false,
      });
    },

    /**
     * Sends like `sendDue`, within the workflow task.
     * @returns null if `sendDue` must send instead, on the carrier's task queue.
     */
    async sendAtOnce({ carrier, ...input }: LineInput & LineLocation): Promise<LineRound | null> {
      const taskQueue = lineQueue(carrier);
      if (!gapWaits.serves(taskQueue)) return null;
      return inTaskRounds.run(taskQueue, cancellationSignal(), () =>
        lineRound(pools, input, linePacerId(input.lineId), (line) => send(line, input, { inTask: true }), {
          endsUnconnected: false,
          taskQueue,
        }),
      );
    },
  };
}

function endOfRound(
  { isAtWork, reason, isPaused, isResting, blockedBy }: SendPlan,
  nextAt: Date | null,
  waits: RoundWaits,
): LineRound {
  // While a round is at work, nobody signals the workflow. So it may be idle only after a plan has recorded that.
  if (isAtWork) return { ...goesOn(reason), isPaused };
  const round = {
    ...roundOf({ nextAt, reason }),
    isPaused,
    ...(isResting && { isResting }),
  };
  if (blockedBy !== null) return { ...round, isBlocked: true };
  return { ...round, ...(waits.allowsNextRound(nextAt) && { goesOn: true }) };
}

/** The state of a round, for operators. */
const stateAt = (nextAt: Date): string =>
  nextAt.getTime() > currentTime().getTime() ? 'waiting' : 'sending';

const goesOn = (reason: string): LineRound => ({ ...roundOf(dueNow(reason)), goesOn: true });
