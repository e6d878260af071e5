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
  const show = async (workspaceId: string, target: Target): Promise<void> => {
    if (!session) return;
    if (workspaceId !== workspace._id) {
      // Closes what is open first: the other workspace does not know it.
      await navigate({ to: '/' });
      const first = session.first ?? { _id: workspace._id, name: workspace.name };
      setSession({ ...session, workspaceId, first });
    }
    await navigate(target as never);
  };
  return (workspaceId, target = { to: '/' }) => void show(workspaceId, target);
}
