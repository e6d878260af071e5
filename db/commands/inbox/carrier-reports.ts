import { currentTime } from '#domain/base/clock.ts';
import type { FileLinks } from '#domain/messages/attachment.ts';
import type { CarrierEvent } from '#domain/lines/carrier-event.ts';
import { type Delivered, type LineEvent, receiveReceipts } from './carrier-events.ts';
import { receiveCarrierEvent } from './inbound.ts';
import { recordUnreadable } from './unreadable.ts';
import { formerOwner } from '#db/commands/lines/line-moves.ts';
import { reassignFallbacksDue } from '#db/commands/lines/line-reassignment.ts';
import type { Pools } from '#db/connection/pools.ts';
import { advanceInboxPosition } from '#db/queries/lines/line-inboxes.ts';
import { lockLinesShared } from '#db/queries/lines/lines.ts';
import { systemDb, type TenantDb, withTenant } from '#db/connection/transactions.ts';

interface Reception {
  pools: Pools;
  links: FileLinks;
}

interface OwnedLine {
  workspaceId: string;
  lineId: string;
}

export interface CrossesTransfers {
  /**
   * Whether the carrier may report about messages of the line's former workspaces. Only the operator's own account may:
   * any other is controlled by the workspace that connected it.
   */
  crossesTransfers: boolean;
}

/** The messages read from an inbox between two positions. */
export interface InboxRead {
  from: string;
  to: string;
  events: readonly CarrierEvent[];
  unreadable?: { reference: string; reason: string } | undefined;
}

/**
 * Stores the events of a carrier callback in one commit.
 * @returns false if the line has left the workspace. Its own events are not stored then.
 */
export async function receiveCarrierEvents(
  { pools, links }: Reception,
  line: OwnedLine & CrossesTransfers,
  events: readonly CarrierEvent[],
): Promise<boolean> {
  const own = line.crossesTransfers ? await receiveForFormerOwners({ pools, links }, line, events) : events;
  return withTenant(pools, line.workspaceId, (db) => receiveOwnEvents(db, line, own, links));
}

/**
 * Stores events about what a line sent and received in its workspace.
 * @returns false if the line has left the workspace. Nothing is stored then.
 */
export async function receiveOwnEvents(
  db: TenantDb,
  line: OwnedLine,
  events: readonly CarrierEvent[],
  links: FileLinks,
): Promise<boolean> {
  if (!(await lockOwnLine(db, line))) return false;
  await receiveAll(db, line, events, links);
  return true;
}

/** A line has left the workspace, so its events may belong to another one. */
export class LineLeft extends Error {}

/**
 * Stores receipts of lines that never belonged to another workspace, all in one commit.
 * @throws LineLeft
 */
export async function receiveDelivered(
  pools: Pools,
  workspaceId: string,
  receipts: readonly LineEvent<Delivered>[],
): Promise<void> {
  const lineIds = new Set(receipts.map(({ lineId }) => lineId));
  const receive = async (db: TenantDb): Promise<void> => {
    const kept = await lockLinesShared(db, [...lineIds]);
    if (kept.size < lineIds.size) throw new LineLeft();
    await receiveReceipts(db, receipts);
  };
  await withTenant(pools, workspaceId, receive, { genericPlans: true });
}

/**
 * Stores what was read from an inbox and advances its position in one commit, so that nothing is lost or stored twice.
 * Workspaces enter the settings of inboxes, so what is read concerns no other workspace.
 * @returns false if the line has left the workspace or another reader was faster. Nothing is stored then.
 */
export async function receiveInboxRead(
  { pools, links }: Reception,
  line: OwnedLine,
  { from, to, events, unreadable }: InboxRead,
): Promise<boolean> {
  return withTenant(pools, line.workspaceId, async (db) => {
    if (!(await lockOwnLine(db, line))) return false;
    if (!(await advanceInboxPosition(db, line.lineId, { from, to }))) return false;
    await receiveAll(db, line, events, links);
    if (unreadable) await recordUnreadable(db, line.lineId, unreadable);
    return true;
  });
}

/**
 * Events about messages that were sent before the line was transferred belong to the workspace that sent them. They are
 * committed one by one; an event that was stored before changes nothing.
 * @returns the other events.
 */
async function receiveForFormerOwners(
  { pools, links }: Reception,
  { lineId }: OwnedLine,
  events: readonly CarrierEvent[],
): Promise<CarrierEvent[]> {
  const rest: CarrierEvent[] = [];
  for (const event of events) {
    const owner =
      event.kind === 'reply' || event.kind === 'call' || event.kind === 'recording'
        ? null
        : await formerOwner(systemDb(pools), lineId, event.carrierMessageId);
    if (owner === null) {
      rest.push(event);
      continue;
    }
    await withTenant(pools, owner, (db) =>
      receiveCarrierEvent(db, lineId, event, { links, now: currentTime() }),
    );
    // The event may require a fallback SMS, which only the pacer of a line in that workspace sends. In a transaction of
    // its own, because lines are locked before what the event changes; the sweep does it after a crash.
    await withTenant(pools, owner, (db) => reassignFallbacksDue(db, lineId));
  }
  return rest;
}

const lockOwnLine = async (db: TenantDb, { lineId }: OwnedLine): Promise<boolean> =>
  (await lockLinesShared(db, [lineId])).has(lineId);

async function receiveAll(
  db: TenantDb,
  { lineId }: OwnedLine,
  events: readonly CarrierEvent[],
  links: FileLinks,
): Promise<void> {
  for (const event of events) await receiveCarrierEvent(db, lineId, event, { links, now: currentTime() });
}
