import { type Client, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, type UpdateDefinition } from '@temporalio/common';
import { sql } from 'slonik';
import { z } from 'zod';
import { withSystem } from '#db/transactions.ts';
import type { Order } from '#workflows/messages/updates.ts';
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

/** The operators' entries in a workspace's audit log, oldest first: `name: action target reason`. */
export const auditOf = (app: TestApp, workspaceId: string): Promise<readonly string[]> =>
  withSystem(app.pools, (db) =>
    db.anyFirst(sql.type(z.object({ entry: z.string() }))`
      select actor_name || ': ' || action || ' ' || target_id || ' ' || coalesce(reason, '') entry from audit_log
      where workspace_id = ${workspaceId} and channel = 'operator' order by id`),
  );
