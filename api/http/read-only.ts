import type { Client } from '#db/queries/accounts/agency.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { isPastDue } from '#domain/billing/entitlement.ts';
import { ApiError } from './errors.ts';

/**
 * Nobody, not even the agency, may change a client that is suspended, or whose subscription is past due.
 * @throws WORKSPACE_SUSPENDED, READ_ONLY
 */
export function refuseReadOnly(clients: readonly Client[]): void {
  const suspended = clients.find(({ isSuspended }) => isSuspended);
  if (suspended) throw new ApiError('WORKSPACE_SUSPENDED', undefined, { workspaceId: suspended.id });
  const readOnly = clients.find(({ isReadOnly }) => isReadOnly);
  if (readOnly) throw new ApiError('READ_ONLY', undefined, { reason: 'past_due', workspaceId: readOnly.id });
}

/**
 * Refuses a change while the workspace is suspended or its subscription is past due. A route with `openWhenReadOnly` calls it for those of its requests that
 * write.
 * @throws WORKSPACE_SUSPENDED, READ_ONLY
 */
export function requireWritable({ workspace }: WorkspaceCaller): void {
  if (workspace.suspended) throw new ApiError('WORKSPACE_SUSPENDED');
  if (isPastDue(workspace)) throw new ApiError('READ_ONLY', undefined, { reason: 'past_due' });
}
