import { Trans, useLingui } from '@lingui/react/macro';
import { useNavigate } from '@tanstack/react-router';
import { Clock, FlaskConical, Smartphone } from 'lucide-react';
import { refreshReads, useWrite } from '#console/api/queries.ts';
import { useIdentity, useIsAdmin } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { Menu } from '#console/components/menu.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { dateOf, timeOf } from '#console/lib/format.ts';
import { useTestClock } from '#console/lib/test-clock.ts';
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
export function TestModeBanner({
  hasPhone,
  setPhone,
}: {
  hasPhone: boolean;
  setPhone: (has: boolean) => void;
}) {
  const { workspace } = useIdentity();
  const modeSwitch = useTestModeSwitch();
  const clock = useTestClock();
  if (workspace.mode !== 'test') return null;
  const time =
    clock && !clock.isReal
      ? `${dateOf(clock.now, workspace.timezone)}, ${timeOf(clock.now, workspace.timezone)}`
      : null;
  return (
    <div
      role="status"
      className="flex shrink-0 flex-wrap items-center justify-end gap-x-3 gap-y-1 border-b-4 border-warn bg-warn-soft px-4 py-2 text-warn"
    >
      <FlaskConical className="size-4 shrink-0" aria-hidden="true" />
      <p className="min-w-0 flex-1 basis-72 font-semibold">
        <Trans>Test mode: nothing here is sent to anybody.</Trans>
        {time !== null && (
          <span className="ml-2 font-normal">
            <Trans>The clock shows {time}.</Trans>
          </span>
        )}
      </p>
      <TurnClock isMoving={clock?.isMoving ?? false} />
      <Button
        small
        aria-pressed={hasPhone}
        icon={<Smartphone className="size-3.5" aria-hidden="true" />}
        onClick={() => setPhone(!hasPhone)}
      >
        <Trans>Phone</Trans>
      </Button>
      <DeleteTestData />
      {modeSwitch && (
        <Button small onClick={modeSwitch.change}>
          <Trans>Leave test mode</Trans>
        </Button>
      )}
    </div>
  );
}

/** Moves the clock of the workspace, so that what is planned for later happens now. */
function TurnClock({ isMoving }: { isMoving: boolean }) {
  const { t } = useLingui();
  const move = useWrite('POST /api/test/clock', { refresh: ['GET /api/test/clock'] });
  const { workspace } = useIdentity();
  const turn = (hours: number): void =>
    move.mutate(
      { body: { advanceSeconds: hours * 3600 } },
      {
        onSuccess: ({ now }) => {
          const time = `${dateOf(now, workspace.timezone)}, ${timeOf(now, workspace.timezone)}`;
          toast(t`The clock shows ${time}`);
          // Anything may have happened meanwhile.
          void refreshReads(null);
        },
        onError: toastError,
      },
    );
  return (
    <Menu
      trigger={
        <Button
          small
          busy={move.isPending || isMoving}
          icon={<Clock className="size-3.5" aria-hidden="true" />}
        >
          <Trans>Turn the clock</Trans>
        </Button>
      }
      groups={[
        {
          title: t`What falls due until then happens now`,
          items: [
            { label: t`An hour`, onSelect: () => turn(1) },
            { label: t`A day`, onSelect: () => turn(24) },
            { label: t`Three days`, onSelect: () => turn(72) },
            { label: t`A week`, onSelect: () => turn(168) },
          ],
        },
      ]}
    />
  );
}

/** Empties the workspace in test mode, and shows it as it is then. */
function DeleteTestData() {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  const reset = useWrite('POST /api/test/reset', { refresh: [] });
  const navigate = useNavigate();
  if (!isAdmin) return null;
  return (
    <ConfirmButton
      label={t`Delete test data`}
      title={t`Delete everything in test mode?`}
      confirm={t`Delete test data`}
      kind="danger"
      busy={reset.isPending}
      // Home first: another page may show something that is deleted, and read it again.
      onConfirm={() =>
        void navigate({ to: '/' }).then(() =>
          // Nothing that was read before exists any more.
          reset.mutate({ body: {} }, { onSuccess: () => window.location.reload(), onError: toastError }),
        )
      }
    >
      <Trans>
        Contacts, messages, campaigns, webhooks and settings of test mode are deleted, and its lines are new.
        The live workspace stays as it is.
      </Trans>
    </ConfirmButton>
  );
}
