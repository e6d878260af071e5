import { fromNow } from '#domain/clock.ts';
import { receiveInboxRead } from '#db/commands/inbound/carrier-reports.ts';
import { inboxPosition } from '#db/queries/line-inboxes.ts';
import { findLine } from '#db/queries/lines.ts';
import { decide } from '#db/decisions.ts';
import { withTenant } from '#db/transactions.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { mailboxReaderId } from '#workflows/messages/workflow-ids.ts';
import type { LineRound, Round } from '#workflows/messages/round.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { type LineAtCarrier, lineRound } from './line-home.ts';
import { decideToEnd, dueNow, roundOf } from './round.ts';

const ROUND_MS = 60_000;

export function createLineInboxActivities(dependencies: Dependencies) {
  const { pools, links, logger, inboxPollSeconds } = dependencies;

  /** Reads one batch. @returns whether there is more to read; null if the line has no inbox. */
  async function readBatch(workspaceId: string, lineId: string): Promise<boolean | null> {
    const { line, position } = await withTenant(pools, workspaceId, async (db) => ({
      line: await findLine(db, lineId),
      position: await inboxPosition(db, lineId),
    }));
    if (!line) return null;
    const { carrier, config } = lineCarrier(dependencies, line);
    const batch = position === null ? null : await carrier.readInbox?.(config, position, workspaceId);
    if (!batch || position === null) return null;
    let from = position;
    for (const { events, position: to, unreadable } of batch.read) {
      const stored = await receiveInboxRead(
        { pools, links },
        { workspaceId, lineId },
        { from, to, events, unreadable },
      );
      if (!stored) return true;
      if (unreadable) logger.warn({ lineId, ...unreadable }, 'skipped an unreadable inbound message');
      from = to;
    }
    return batch.more;
  }

  return {
    /** Reads new messages from a line's inbox. */
    async readInbox(line: { workspaceId: string; lineId: string }): Promise<LineRound> {
      return lineRound(pools, line, mailboxReaderId(line.lineId), read, { endsUnconnected: true });
    },
  };

  function read({ workspaceId, lineId }: LineAtCarrier): Promise<Round> {
    const reader = mailboxReaderId(lineId);
    return withHeartbeat(async (canceled) => {
      const end = Date.now() + ROUND_MS;
      const nextAt = fromNow(inboxPollSeconds * 1000);
      // Set before the settings are read, so that a later change of them brings it forward again.
      await decide(pools, workspaceId, reader, async () => ({ nextAt }));
      let reason = 'the inbox is polled';
      try {
        let more: boolean | null = true;
        while (more && !canceled.aborted && Date.now() < end) more = await readBatch(workspaceId, lineId);
        if (more) return roundOf(dueNow('there are more messages in the inbox'));
        if (more === null) return await decideToEnd(pools, workspaceId, reader, 'the line has no inbox');
      } catch (error) {
        // The error text comes from the server and may contain personal data.
        logger.warn({ lineId, code: codeOf(error) }, 'an inbox could not be read');
        reason = 'the inbox could not be read';
      }
      return roundOf({ nextAt, reason });
    });
  }
}

const codeOf = (error: unknown): string => {
  const { code, name = 'Error' } = error as { code?: unknown; name?: string };
  return typeof code === 'string' ? code : name;
};
