import { Lock } from 'lucide-react';
import type { ReactNode } from 'react';
import { useIdentity } from '#console/api/workspace.ts';
import { EmptyState } from '#console/components/states.tsx';

/** Whether the API lets the caller change what only admins may: keys and an agency in its client's workspace may. */
export function useIsAdmin(): boolean {
  const { caller } = useIdentity();
  return caller.role === null || caller.role === 'org:admin';
}

/** What the API shows only to signed-in admins, never to a key. */
export function SignedInAdmin({ what, children }: { what: string; children: ReactNode }) {
  const { caller } = useIdentity();
  const isAdmin = useIsAdmin();
  const icon = <Lock className="size-5" aria-hidden="true" />;
  if (caller.type === 'key') {
    return (
      <EmptyState icon={icon} title="This needs a signed-in user">
        You are signed in with an API key. {what} with a user’s session only.
      </EmptyState>
    );
  }
  if (!isAdmin) {
    return (
      <EmptyState icon={icon} title="For admins">
        {what} by an owner or admin of the workspace only.
      </EmptyState>
    );
  }
  return children;
}
