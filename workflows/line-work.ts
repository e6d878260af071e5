import {
  ActivityFailure,
  proxyLocalActivities,
  TimeoutFailure,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { WORKSPACE_ID } from './messages/search-attributes.ts';
import type { WakeInput } from './messages/wake.ts';
import { type LineHome, type LineRound, type Round, workLoop } from './work-loop.ts';

const { findCarrier } = proxyLocalActivities<Activities>({ startToCloseTimeout: '10s' });

/**
 * The work loop of a line: each round takes place at the carrier that the line is connected to, and follows the line to
 * another carrier or workspace.
 * @param round asks the workers of a carrier, which may be unserved.
 * @returns where the line is, to continue as new with; null when its work has ended.
 */
export async function lineWork(
  input: WakeInput,
  round: (home: LineHome) => Promise<LineRound>,
): Promise<WakeInput | null> {
  const lineId = input.subjectId;
  let home: LineHome = {
    workspaceId: input.workspaceId,
    carrier: await findCarrier({ workspaceId: input.workspaceId, lineId }),
  };
  const ended = await workLoop(async (): Promise<Round> => {
    try {
      const { home: found, ...result } = await round(home);
      if (found) {
        if (found.workspaceId !== home.workspaceId) relabel(found.workspaceId);
        home = found;
      }
      return result;
    } catch (error) {
      if (!isUnserved(error)) throw error;
      home = { ...home, carrier: await findCarrier({ workspaceId: home.workspaceId, lineId }) };
      return { nextAt: new Date().toISOString(), reason: 'no worker served the carrier in time' };
    }
  });
  return ended ? null : { workspaceId: home.workspaceId, subjectId: lineId };
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
