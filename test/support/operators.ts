import { type Client, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, type UpdateDefinition } from '@temporalio/common';
import { sql } from 'slonik';
import { z } from 'zod';
import { withSystem } from '#db/connection/transactions.ts';
import type { SignalName } from '#workflows/protocol/signals.ts';
import type { Order } from '#workflows/protocol/updates.ts';
import type { TestApp } from './app.ts';

/** The operator in every test. */
export const DANA: Order = { by: 'Dana', reason: 'maintenance' };

/** Sends an update to a running workflow, as an operator does in Temporal's UI. */
export const ask = <Verdict, O extends Order>(
  temporal: Client,
  workflowId: string,
  update: UpdateDefinition<Verdict, [O]>,
  order: O,
): Promise<Verdict> => temporal.workflow.getHandle(workflowId).executeUpdate(update, { args: [order] });

/** Sends a signal as an operator does from Temporal's UI or CLI, which know nothing of the product. */
export const signalByHand = (
  temporal: Client,
  workflowId: string,
  signal: SignalName,
  ...order: unknown[]
): Promise<void> => temporal.workflow.getHandle(workflowId).signal(signal, ...order);

/** What the Temporal UI shows as the current details of a workflow. */
export async function detailsOf(temporal: Client, workflowId: string): Promise<string> {
  const { currentDetails = '' } = await temporal.workflow
    .getHandle(workflowId)
    .query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  return currentDetails;
}

/** @returns the failure with which an update was rejected. */
export async function refusalOf(verdict: Promise<unknown>): Promise<ApplicationFailure> {
  const error = await verdict.then(
    () => new Error('the update was not rejected'),
    (reason: unknown) => reason,
  );
  if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure)
    return error.cause;
  throw error;
}

/** Who decided about a draft, by the audit log: `channel name`. */
export const decisionsOf = (app: TestApp, replyId: string): Promise<readonly string[]> =>
  withSystem(app.pools, (db) =>
    db.anyFirst(sql.type(z.object({ entry: z.string() }))`
      select channel || ' ' || coalesce(actor_name, actor_id) entry from audit_log
      where action = 'draft.decided' and target_id = ${replyId} order by id`),
  );

/** The operators' entries in a workspace's audit log, oldest first: `name: action target reason`. */
export const auditOf = (app: TestApp, workspaceId: string): Promise<readonly string[]> =>
  withSystem(app.pools, (db) =>
    db.anyFirst(sql.type(z.object({ entry: z.string() }))`
      select actor_name || ': ' || action || ' ' || target_id || ' ' || coalesce(reason, '') entry from audit_log
      where workspace_id = ${workspaceId} and channel = 'operator' order by id`),
  );
