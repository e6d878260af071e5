import { activityInfo } from '@temporalio/activity';
import { decide } from '#db/wakes/decisions.ts';
import type { Pools } from '#db/connection/pools.ts';
import { NEVER } from '#db/connection/timestamp.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { findLineOwner } from '#db/queries/accounts/workspaces.ts';
import { NO_CARRIER } from '#domain/lines/line.ts';
import { lineQueue } from '#workflows/protocol/task-queues.ts';
import type { LineLocation, LineRound, Round } from '#workflows/protocol/round.ts';
import { dueNow, roundOf } from '../base/round.ts';

export interface LineAtCarrier {
  workspaceId: string;
  lineId: string;
  carrier: string;
}

/** The workspace and carrier of a line. @returns null if the line was deleted. */
export async function findLocation(pools: Pools, lineId: string): Promise<LineLocation | null> {
  const home = await findLineOwner(systemDb(pools), lineId);
  return home && { ...home, carrier: carrierOf(home) };
}

const carrierOf = ({ carrier }: { carrier: string }): string | null =>
  carrier === NO_CARRIER ? null : carrier;

/**
 * Runs a round for a line on the task queue of its carrier. On any other task queue, it only returns where the line
 * is now.
 * @param options.endsUnconnected whether the workflow ends while the line is not connected to a carrier.
 * @param options.taskQueue the task queue that the round replaces.
 * @returns null if `work` returns null.
 */
export async function lineRound<Result extends LineRound | null>(
  pools: Pools,
  { workspaceId, lineId }: { workspaceId: string; lineId: string },
  workflowId: string,
  work: (line: LineAtCarrier) => Promise<Result>,
  { endsUnconnected, taskQueue = activityInfo().taskQueue }: { endsUnconnected: boolean; taskQueue?: string },
): Promise<LineRound | Result> {
  /** Decides in one transaction, so that a line that moves or connects in the meantime gets another look immediately. */
  async function becomeIdle(at: LineLocation | null, reason: string, ended: boolean): Promise<Round> {
    const look = await decide(pools, at?.workspaceId ?? workspaceId, workflowId, async (db) => {
      const line = await findLine(db, lineId);
      const isSame = (line && carrierOf(line)) === (at && at.carrier) && (line === null) === (at === null);
      return isSame ? { nextAt: null, reason, ended, hold: { all: NEVER } } : dueNow('the line has changed');
    });
    return roundOf(look);
  }

  const home = await findLocation(pools, lineId);
  if (!home) return becomeIdle(null, 'the line was deleted', true);
  const { carrier } = home;
  if (taskQueue !== lineQueue(carrier))
    return { ...roundOf(dueNow('the line has moved to another carrier')), home };
  const round =
    carrier === null
      ? await becomeIdle(home, 'the line is not connected to a carrier', endsUnconnected)
      : await work({ workspaceId: home.workspaceId, lineId, carrier });
  return round && { ...round, ...(home.workspaceId !== workspaceId && { home }) };
}
