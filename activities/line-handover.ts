import { currentTime } from '#domain/clock.ts';
import {
  failOverChunk,
  type FailoverProgress,
  hasStopped,
  type StoppedLine,
} from '#db/commands/lines/line-failover.ts';
import { abandonChunk, type Place, rehomeChunk } from '#db/commands/lines/line-rehoming.ts';
import { decide } from '#db/decisions.ts';
import { findLine, isUsable } from '#db/queries/lines.ts';
import type { TenantDb } from '#db/transactions.ts';
import type { Round } from '#workflows/messages/round.ts';
import { lineHandoverId, type WakeInput } from '#workflows/messages/wake.ts';
import type { Dependencies } from './dependencies.ts';
import { dueNow, type Look, repeatFor } from './round.ts';

const ROUND_MS = 60_000;

const DONE: Look = { nextAt: null, reason: 'other lines have all messages that they can send', ended: true };
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
      /** The position in the queue. Messages before it that are left are those that no other line can send. */
      let offered: Place | 'all' | null = null;
      /** The same for a line that was removed, which keeps no messages. */
      let left: Place | null = null;
      let failover: FailoverProgress | null = null;

      async function look(db: TenantDb): Promise<Look> {
        const line = lineId === null ? null : await findLine(db, lineId);
        if (lineId !== null && !line) {
          const { after, isDone } = await abandonChunk(db, lineId, left);
          left = after;
          return isDone ? DONE : dueNow(MORE);
        }
        if (line && !hasStopped(line)) return DONE;
        const leavesAtOnce = !line || !isUsable(line) || line.healthStatus === 'down';
        if (leavesAtOnce && offered !== 'all') {
          offered = (await rehomeChunk(db, lineId, offered)) ?? 'all';
          return dueNow(MORE);
        }
        return line ? failOver(db, line) : DONE;
      }

      async function failOver(db: TenantDb, line: StoppedLine): Promise<Look> {
        const progress = await failOverChunk(db, line, failover, currentTime());
        if ('nextAt' in progress) {
          failover = null;
          if (progress.nextAt === null) return DONE;
          return {
            nextAt: progress.nextAt,
            reason: 'messages of a pool wait for this line or for other lines of the pool',
          };
        }
        failover = progress;
        return dueNow(MORE);
      }

      return repeatFor(ROUND_MS, MORE, () =>
        decide(pools, workspaceId, lineHandoverId(lineId, workspaceId), look),
      );
    },
  };
}
