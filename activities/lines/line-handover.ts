import { currentTime } from '#domain/base/clock.ts';
import {
  failOverChunk,
  type FailoverProgress,
  hasStopped,
  type StoppedLine,
} from '#db/commands/lines/line-failover.ts';
import { removeChunk, type QueuePosition, reassignChunk } from '#db/commands/lines/line-reassignment.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { findLine, isUsable } from '#db/queries/lines/lines.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { Round } from '#workflows/protocol/round.ts';
import { lineHandoverId, type WakeInput } from '#workflows/protocol/workflow-ids.ts';
import type { Dependencies } from '../dependencies.ts';
import { dueNow, repeatFor } from '../base/round.ts';

const ROUND_MS = 60_000;

/** Where the messages of a line have been offered to other lines. */
interface Progress {
  /** The position in the queue. Messages before it that are left are those that no other line can send. */
  offered: QueuePosition | 'all' | null;
  /** The same for a line that was removed, which keeps no messages. */
  left: QueuePosition | null;
  failover: FailoverProgress | null;
}

type Step = Look & { progress?: Partial<Progress> };

const DONE: Step = { nextAt: null, reason: 'other lines have all messages that they can send', ended: true };
const MORE = 'there are more messages to hand over';

export function createLineHandoverActivities({ pools }: Dependencies) {
  return {
    /**
     * Assigns the unsent messages of a line to other lines, in one transaction per chunk. Each chunk checks again whether
     * the line has left its workspace or only stopped sending, because a line that came back sends the rest itself. Messages
     * of a pool leave a line that has stopped when the pool says so.
     * @param input.subjectId the line; `none` for messages that no line could send.
     */
    async handOver({ workspaceId, subjectId }: WakeInput): Promise<Round> {
      const lineId = subjectId === 'none' ? null : subjectId;
      let progress: Progress = { offered: null, left: null, failover: null };
      return repeatFor(ROUND_MS, MORE, async () => {
        const step = await decide(pools, workspaceId, lineHandoverId(lineId, workspaceId), (db) =>
          handOverChunk(db, lineId, progress),
        );
        // Only now, because a transaction that conflicts with another is repeated.
        progress = { ...progress, ...step.progress };
        return step;
      });
    },
  };
}

async function handOverChunk(db: TenantDb, lineId: string | null, progress: Progress): Promise<Step> {
  const line = lineId === null ? null : await findLine(db, lineId);
  if (lineId !== null && !line) {
    const { after, isDone } = await removeChunk(db, lineId, progress.left);
    return isDone ? DONE : { ...dueNow(MORE), progress: { left: after } };
  }
  if (line && !hasStopped(line)) return DONE;
  const leavesAtOnce = !line || !isUsable(line) || line.healthStatus === 'down';
  if (leavesAtOnce && progress.offered !== 'all') {
    const offered = (await reassignChunk(db, lineId, progress.offered)) ?? 'all';
    return { ...dueNow(MORE), progress: { offered } };
  }
  return line ? failOver(db, line, progress.failover) : DONE;
}

async function failOver(db: TenantDb, line: StoppedLine, after: FailoverProgress | null): Promise<Step> {
  const next = await failOverChunk(db, line, after, currentTime());
  if (!('nextAt' in next)) return { ...dueNow(MORE), progress: { failover: next } };
  if (next.nextAt === null) return { ...DONE, progress: { failover: null } };
  return {
    nextAt: next.nextAt,
    reason: 'messages of a pool wait for this line or for other lines of the pool',
    progress: { failover: null },
  };
}
