import type { WorkspaceCaller } from '#domain/caller.ts';
import { ApiError } from '../http/errors.ts';

/** A key acts for the workspace; of those signed in, admins do. @throws ADMIN_REQUIRED */
export function refuseMembers({ via, role }: WorkspaceCaller): void {
  if (via === 'session' && role !== 'org:admin') throw new ApiError('ADMIN_REQUIRED');
}
