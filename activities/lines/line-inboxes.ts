import { currentTime, fromNow } from '#domain/base/clock.ts';
import { toStorable, truncate } from '#domain/base/text.ts';
import { recordedAmong } from '#db/commands/inbox/carrier-events.ts';
import { receiveInboxRead } from '#db/commands/inbox/carrier-reports.ts';
import { unreadableAmong } from '#db/commands/inbox/unreadable.ts';
import { recordInboxFailure, recordInboxRead } from '#db/commands/lines/inbox-health.ts';
import { inboxPosition } from '#db/queries/lines/line-inboxes.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { decide } from '#db/wakes/decisions.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { pauseAfterFailure } from '#domain/lines/inbox-health.ts';
import { type InboxItem, NotOfInbox } from '#providers/carriers/carrier.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { mailboxReaderId } from '#workflows/protocol/workflow-ids.ts';
import type { LineRound } from '#workflows/protocol/round.ts';
import type { Dependencies, ProcessDependencies } from '../dependencies.ts';
import { withHeartbeat } from '../base/heartbeat.ts';
import { type LineAtCarrier, lineRound } from './line-location.ts';
import type { Rounds } from '../base/round-poller.ts';
import { decideToEnd, dueNow, roundOf } from '../base/round.ts';

const ROUND_MS = 60_000;
/** Of a round that a process takes itself, so that the inboxes of all lines get turns. A server that does not answer has its own limits. */
const TAKEN_MS = 15_000;
const MAX_FAILURE = 300;

interface LineOf {
  workspaceId: string;
  lineId: string;
}

interface InboxRead {
  /** The time was over before. */
  hasMore: boolean;
  /** The line has no inbox. */
  isMissing: boolean;
  /** Since when it cannot be read; null: it was read. */
  failingSince: Date | null;
  /** Whether it began to fail, or could be read again. */
  hasChanged: boolean;
}

function createInboxReading(dependencies: ProcessDependencies) {
  const { pools, links, logger, secrets, inboxPollSeconds } = dependencies;
  const pollMs = inboxPollSeconds * 1000;

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
    batch.stored?.();
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
    /** Reads new messages until there are none, or the time is over. */
    async read({ workspaceId, lineId }: LineOf, canceled: AbortSignal, ms: number): Promise<InboxRead> {
      const end = Date.now() + ms;
      const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
        withTenant(pools, workspaceId, work);
      const nextAt = (at: Date) =>
        decide(pools, workspaceId, mailboxReaderId(lineId), async () => ({ nextAt: at }));
      // Set before the settings are read, so that a later change of them brings it forward again.
      await nextAt(fromNow(pollMs));
      try {
        let more: boolean | null = true;
        while (more && !canceled.aborted && Date.now() < end) more = await readBatch(workspaceId, lineId);
        if (more) {
          await nextAt(currentTime());
          return { hasMore: true, isMissing: false, failingSince: null, hasChanged: false };
        }
        const at = more === null ? null : currentTime();
        const hasChanged = await tenant((db) => recordInboxRead(db, lineId, at));
        return { hasMore: false, isMissing: more === null, failingSince: null, hasChanged };
      } catch (error) {
        // Errors of our own are retried by the workflow.
        if (!(error instanceof InboxFailure)) throw error;
        // The text comes from the server and may contain personal data.
        logger.warn({ lineId, code: codeOf(error.cause) }, 'an inbox could not be read');
        const now = currentTime();
        const failure = { failure: error.message, seal: mailSeal(secrets, workspaceId), now };
        const failingSince = (await tenant((db) => recordInboxFailure(db, lineId, failure))) ?? now;
        const failingMs = now.getTime() - failingSince.getTime();
        await nextAt(fromNow(pauseAfterFailure(pollMs, failingMs)));
        return { hasMore: false, isMissing: false, failingSince, hasChanged: failingMs <= 0 };
      }
    },
  };
}

export function createLineInboxActivities(dependencies: Dependencies) {
  const { pools, roundClaims, inboxPollSeconds } = dependencies;
  const { read } = createInboxReading(dependencies);

  return {
    /** Reads new messages from a line's inbox, and says how the rounds of processes go, which follow. */
    async readInbox(line: { workspaceId: string; lineId: string }): Promise<LineRound> {
      const workflowId = mailboxReaderId(line.lineId);
      const round = ({ workspaceId, lineId }: LineAtCarrier): Promise<LineRound> =>
        withHeartbeat((canceled) =>
          roundClaims.during({ workspaceId, workflowId }, async () => {
            const { hasMore, isMissing, failingSince } = await read(
              { workspaceId, lineId },
              canceled,
              ROUND_MS,
            );
            if (hasMore) return roundOf(dueNow('there are more messages in the inbox'));
            if (isMissing) return decideToEnd(pools, workspaceId, workflowId, 'the line has no inbox');
            const reason =
              failingSince === null
                ? `a worker reads the inbox every ${inboxPollSeconds} seconds`
                : `the inbox could not be read since ${failingSince.toISOString()}; a worker tries again`;
            return { nextAt: null, reason, isPolled: true, ...(failingSince && { isBlocked: true }) };
          }),
        );
      return lineRound(pools, line, workflowId, round, { endsUnconnected: true });
    },
  };
}

/** The rounds of inboxes that processes take themselves. The workflow is told what operators are to see. */
export function inboxRounds(dependencies: ProcessDependencies, slots: number): Rounds {
  const { read } = createInboxReading(dependencies);
  return {
    slots,
    async run({ workspaceId, subjectId: lineId }, canceled) {
      const { isMissing, hasChanged } = await read({ workspaceId, lineId }, canceled, TAKEN_MS);
      return isMissing || hasChanged ? 'hand over' : 'done';
    },
  };
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
