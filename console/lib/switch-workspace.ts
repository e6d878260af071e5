import { useNavigate } from '@tanstack/react-router';
import { setSession, useSession } from '#console/api/session.ts';
import { useIdentity } from '#console/api/workspace.ts';
import type { Search } from './search.ts';

interface Target {
  to: string;
  search?: Search;
}

/** Shows another workspace of the agency: its Home, or the page given. */
export function useSwitchWorkspace(): (workspaceId: string, target?: Target) => void {
  const { workspace } = useIdentity();
  const session = useSession();
  const navigate = useNavigate();
  return (workspaceId, target = { to: '/' }) => {
    if (!session) return;
    const first = session.first ?? { _id: workspace._id, name: workspace.name };
    if (workspaceId !== workspace._id) setSession({ ...session, workspaceId, first });
    void navigate(target as never);
  };
}
