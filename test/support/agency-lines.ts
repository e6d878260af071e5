import type { ApiClient, ApiResponse } from './client.ts';

/** Transfers a line to another workspace of the agency that calls. */
export const transferLine = (api: ApiClient, lineId: string, target: { id: string }): Promise<ApiResponse> =>
  api('POST', '/api/agency/lines', { action: 'transfer', lineId, targetWorkspaceId: target.id });

/** Takes a line away from its workspace: deletes it, or transfers it to `target`. Only owners can delete lines. */
export const removeLine = (
  owner: ApiClient,
  lineId: string,
  action: 'delete' | 'transfer',
  target: { id: string },
): Promise<ApiResponse> =>
  action === 'delete'
    ? owner('POST', '/api/agency/lines', { action, lineId })
    : transferLine(owner, lineId, target);
