import type { FileLinks } from '#domain/attachment.ts';
import type { CarrierEvent } from '#domain/carrier-event.ts';
import { receiveCarrierEvent } from './inbound.ts';
import { formerOwner } from '#db/commands/lines/line-moves.ts';
import { rehomeMessages } from '#db/commands/lines/line-rehoming.ts';
import type { Pools } from '#db/pools.ts';
import { systemDb, type TenantDb, withTenant } from '#db/transactions.ts';
import { lockLinesShared } from '#db/queries/lines.ts';

interface Reception {
  pools: Pools;
  links: FileLinks;
}

/**
 * Takes in what a carrier reports of a line, in one commit together with `last`. What
 * concerns a workspace that the line has left is committed there before; seen again, it changes nothing.
 * @param last false: nothing is to be taken in.
 * @returns false when the line has left this workspace meanwhile, or `last` returned it; nothing was taken in then.
 */
export async function receiveCarrierEvents(
  { pools, links }: Reception,
  { workspaceId, lineId }: { workspaceId: string; lineId: string },
  events: readonly CarrierEvent[],
  last: (db: TenantDb) => Promise<boolean> = async () => true,
): Promise<boolean> {
  const context = () => ({ links, now: new Date() });
  const own: CarrierEvent[] = [];
  for (const event of events) {
    const owner = await ownerOf(event, lineId, pools);
    if (owner === null) {
      own.push(event);
      continue;
    }
    // A fallback that is owed now needs a pacer of that workspace.
    await withTenant(pools, owner, async (db) => {
      await receiveCarrierEvent(db, lineId, event, context());
      await rehomeMessages(db, lineId);
    });
  }
  try {
    await withTenant(pools, workspaceId, async (db) => {
      if (!(await lockLinesShared(db, [lineId])).has(lineId)) throw new NotWanted();
      for (const event of own) await receiveCarrierEvent(db, lineId, event, context());
      if (!(await last(db))) throw new NotWanted();
    });
    return true;
  } catch (error) {
    if (error instanceof NotWanted) return false;
    throw error;
  }
}

/** Undoes the transaction it is thrown in. */
class NotWanted extends Error {}

/** A line may have moved: what is told of a message sent before concerns the workspace that sent it; else null. */
async function ownerOf(event: CarrierEvent, lineId: string, pools: Pools): Promise<string | null> {
  if (event.kind === 'reply' || event.kind === 'call' || event.kind === 'recording') return null;
  return formerOwner(systemDb(pools), lineId, event.carrierMessageId);
}
