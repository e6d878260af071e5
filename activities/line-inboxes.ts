import { currentTime, fromNow } from '#domain/clock.ts';
import { toStorable, truncate } from '#domain/text.ts';
import { recordedAmong } from '#db/commands/inbound/carrier-events.ts';
import { receiveInboxRead } from '#db/commands/inbound/carrier-reports.ts';
import { unreadableAmong } from '#db/commands/inbound/unreadable.ts';
import { recordInboxFailure, recordInboxRead } from '#db/commands/lines/inbox-health.ts';
import { inboxPosition } from '#db/queries/line-inboxes.ts';
import { findLine } from '#db/queries/lines.ts';
import { decide } from '#db/decisions.ts';
import { withTenant } from '#db/transactions.ts';
import { type InboxItem, NotOfInbox } from '#providers/carriers/carrier.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { mailboxReaderId } from '#workflows/messages/workflow-ids.ts';
import type { LineRound, Round } from '#workflows/messages/round.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { type LineAtCarrier, lineRound } from './line-home.ts';
import { decideToEnd, dueNow, roundOf } from './round.ts';

const ROUND_MS = 60_000;
const MAX_FAILURE = 300;

export function createLineInboxActivities(dependencies: Dependencies) {
  const { pools, links, logger, secrets, inboxPollSeconds } = dependencies;

  /** Reads one batch. @returns whether there is more to read; null if the line has no inbox. */
  async function readBatch(workspaceId: string, lineId: string): Promise<boolean | null> {
    const { line, position } = await withTenant(pools, workspaceId, async (db) => ({
      line: await findLine(db, lineId),
      position: await inboxPosition(db, lineId),
    }));
    if (!line) return null;
    const { carrier, config } = lineCarrier(dependencies, line);
    const batch =
      position === null
        ? null
        : await ofInbox(async () => carrier.readInbox?.(config, position, workspaceId));
    if (!batch || position === null) return null;
    let from = position;
    for (const { events, position: to, unreadable } of await unstored(workspaceId, lineId, batch.read)) {
      if (to === from && events.length === 0 && !unreadable) continue;
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

  /** Some carriers list messages again, because they can have changed since. @returns the items without what is stored. */
  async function unstored(
    workspaceId: string,
    lineId: string,
    items: readonly InboxItem[],
  ): Promise<readonly InboxItem[]> {
    const eventIds = items.flatMap(({ events }) => events.map(({ eventId }) => eventId));
    const references = items.flatMap(({ unreadable }) => unreadable?.reference ?? []);
    const stored = await withTenant(pools, workspaceId, async (db) => ({
      events: await recordedAmong(db, lineId, eventIds),
      references: await unreadableAmong(db, lineId, references),
    }));
    return items.map(({ events, position, unreadable }) => ({
      events: events.filter(({ eventId }) => !stored.events.has(eventId)),
      position,
      ...(unreadable && !stored.references.has(unreadable.reference) && { unreadable }),
    }));
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
        const at = more === null ? null : currentTime();
        await withTenant(pools, workspaceId, (db) => recordInboxRead(db, lineId, at));
        if (more === null) return await decideToEnd(pools, workspaceId, reader, 'the line has no inbox');
      } catch (error) {
        // Errors of our own are retried by the workflow.
        if (!(error instanceof InboxFailure)) throw error;
        // The text comes from the server and may contain personal data.
        logger.warn({ lineId, code: codeOf(error.cause) }, 'an inbox could not be read');
        const failure = { failure: error.message, seal: mailSeal(secrets, workspaceId), now: currentTime() };
        const since = await withTenant(pools, workspaceId, (db) => recordInboxFailure(db, lineId, failure));
        reason = `the inbox could not be read since ${(since ?? failure.now).toISOString()}`;
      }
      return roundOf({ nextAt, reason });
    });
  }
}

/** The mailbox cannot be read; the reason is for its owner. */
class InboxFailure extends Error {}

async function ofInbox<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof NotOfInbox) throw error;
    throw new InboxFailure(
      truncate(toStorable(error instanceof Error ? error.message : String(error)), MAX_FAILURE),
      {
        cause: error,
      },
    );
  }
}

const codeOf = (error: unknown): string => {
  const { code, name = 'Error' } = error as { code?: unknown; name?: string };
  return typeof code === 'string' ? code : name;
};
