import { type FragmentSqlToken, sql } from 'slonik';

/** Whether a workspace is not one of test mode, whose faults nobody is to be called for: callers bring them about. */
export const isLive = (workspaceId: FragmentSqlToken) => sql.fragment`
  ${workspaceId} not in (select id from workspaces where live_workspace_id is not null)`;
