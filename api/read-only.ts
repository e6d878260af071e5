import type { Client } from '#db/queries/agency.ts';
import type { WorkspaceCaller } from '#domain/caller.ts';
import { isPastDue } from '#domain/entitlement.ts';
import { ApiError } from './http/errors.ts';

/** Nobody, not even the agency, may change a client whose subscription is past due. @throws READ_ONLY */
export function refuseReadOnly(clients: readonly Client[]): void {
  const readOnly = clients.find(({ isReadOnly }) => isReadOnly);
  if (readOnly) throw new ApiError('READ_ONLY', undefined, { reason: 'past_due', workspaceId: readOnly.id });
}

/**
 * Refuses a change while the subscription is past due. A route with `openWhenReadOnly` calls it for those of its requests that
 * write.
 * @throws READ_ONLY
 */
export function requireWritable({ workspace }: WorkspaceCaller): void {
  if (isPastDue(workspace)) throw new ApiError('READ_ONLY', undefined, { reason: 'past_due' });
}
