import type { Client } from '@temporalio/client';
import { billableActions } from '../../../test/support/actions.ts';

/** Counts the billable actions of every workflow in the namespace so far. */
export async function actionsOf(temporal: Client): Promise<number> {
  let actions = 0;
  for await (const { workflowId, runId } of temporal.workflow.list()) {
    const { events } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    actions += billableActions(events ?? []);
  }
  return actions;
}

const HEARTBEATS =
  /^service_requests\{[^}]*operation="RecordActivityTaskHeartbeat"[^}]*service_name="frontend"[^}]*\} (\d+)/gm;

/** The heartbeats that reached the server, from its metrics: each is an action, and no history shows it. */
export async function heartbeatsSoFar(metricsUrl: string): Promise<number> {
  const metrics = await (await fetch(metricsUrl)).text();
  return [...metrics.matchAll(HEARTBEATS)].reduce((sum, [, count]) => sum + Number(count), 0);
}
