import { Trans } from '@lingui/react/macro';
import { FlaskConical } from 'lucide-react';
import { useWrite } from '#console/api/queries.ts';
import { useIdentity, useIsAdmin } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { toastError } from '#console/components/toast.tsx';
import { useSwitchWorkspace } from '#console/lib/switch-workspace.ts';

/** Switches between the workspace and its twin for tests, which an admin opens; null: the caller cannot. */
export function useTestModeSwitch(): { isTest: boolean; change: () => void } | null {
  const { workspace, caller } = useIdentity();
  const open = useWrite('POST /api/workspace/test-mode', { refresh: [] });
  const switchTo = useSwitchWorkspace();
  const isAdmin = useIsAdmin();
  if (caller.type !== 'user') return null;
  const { liveWorkspaceId, testWorkspaceId } = workspace;
  if (liveWorkspaceId !== null) return { isTest: true, change: () => switchTo(liveWorkspaceId) };
  if (testWorkspaceId !== null) return { isTest: false, change: () => switchTo(testWorkspaceId) };
  if (!isAdmin) return null;
  const enter = (): void =>
    open.mutate({}, { whileShown: ({ workspaceId }) => switchTo(workspaceId), onError: toastError });
  return { isTest: false, change: enter };
}

/** Says on every page that nothing here is real. */
export function TestModeBanner() {
  const { workspace } = useIdentity();
  const modeSwitch = useTestModeSwitch();
  if (workspace.mode !== 'test') return null;
  return (
    <div
      role="status"
      className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b-4 border-warn bg-warn-soft px-4 py-2 text-warn"
    >
      <FlaskConical className="size-4 shrink-0" aria-hidden="true" />
      <p className="min-w-0 flex-1 font-semibold">
        <Trans>Test mode: nothing here is sent to anybody.</Trans>
      </p>
      {modeSwitch && (
        <Button small onClick={modeSwitch.change}>
          <Trans>Leave test mode</Trans>
        </Button>
      )}
    </div>
  );
}
