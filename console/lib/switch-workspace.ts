import { useNavigate } from '@tanstack/react-router';
import { setSession, useSession } from '#console/api/session.ts';
import { useIdentity } from '#console/api/workspace.ts';

/** Shows another workspace of the agency, beginning with its Home. */
export function useSwitchWorkspace(): (workspaceId: string) => void {
  const { workspace } = useIdentity();
  const session = useSession();
  const navigate = useNavigate();
  return (workspaceId) => {
    if (!session) return;
    if (workspaceId !== workspace._id) setSession({ ...session, workspaceId });
    void navigate({ to: '/' });
  };
}
