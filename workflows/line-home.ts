import {
  ActivityFailure,
  proxyLocalActivities,
  TimeoutFailure,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import type { LineHome, LineRound } from './messages/round.ts';
import { WORKSPACE_ID } from './messages/search-attributes.ts';
import type { WakeInput } from './messages/wake.ts';

/** What the workflow of a line continues as new with. */
export interface LineInput extends WakeInput {
  /** The carrier that the line was at, so that nobody has to look it up again; null: none. */
  carrier?: string | null;
}

const { findCarrier } = proxyLocalActivities<Activities>({ startToCloseTimeout: '10s' });

/** Where a line is when its workflow begins. */
export async function homeOf({ workspaceId, subjectId: lineId, carrier }: LineInput): Promise<LineHome> {
  return {
    workspaceId,
    carrier: carrier === undefined ? await findCarrier({ workspaceId, lineId }) : carrier,
  };
}

/**
 * A round at the carrier that the line is connected to. Where nobody serves that carrier, the line's carrier is looked
 * up again: a signal cannot interrupt the wait for a worker.
 * @returns with `home`, where the line is from now on.
 */
export async function roundAt(
  home: LineHome,
  lineId: string,
  round: (home: LineHome) => Promise<LineRound>,
): Promise<LineRound & { home: LineHome }> {
  try {
    const found = { home, ...(await round(home)) };
    if (found.home.workspaceId !== home.workspaceId) relabel(found.home.workspaceId);
    return found;
  } catch (error) {
    if (!isUnserved(error)) throw error;
    const carrier = await findCarrier({ workspaceId: home.workspaceId, lineId });
    const nextAt = new Date().toISOString();
    return { nextAt, reason: 'no worker served the carrier in time', home: { ...home, carrier } };
  }
}

/** No worker took the task: its carrier has none, or all of theirs are busy. */
export const isUnserved = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof TimeoutFailure &&
  error.cause.timeoutType === 'SCHEDULE_TO_START';

/** The workflow is found by the workspace that its line is in now; a namespace without the attribute has none to change. */
function relabel(workspaceId: string): void {
  if (workflowInfo().typedSearchAttributes.get(WORKSPACE_ID) !== undefined)
    upsertSearchAttributes([{ key: WORKSPACE_ID, value: workspaceId }]);
}
