import { Trans, useLingui } from '@lingui/react/macro';
import { ChevronsUpDown } from 'lucide-react';
import { useRead } from '#console/api/queries.ts';
import { useSession } from '#console/api/session.ts';
import { type Identity, useIdentity } from '#console/api/workspace.ts';
import { Menu } from '#console/components/menu.tsx';
import { useSwitchWorkspace } from '#console/lib/switch-workspace.ts';

/** The current workspace; a menu of the others of the user, for an agency of its clients. */
export function WorkspaceMenu() {
  const { t } = useLingui();
  const { workspace, agency, workspaces } = useIdentity();
  if (!agency && workspaces.length < 2) {
    return (
      <div className="flex h-9 min-w-0 flex-1 items-center gap-2.5 px-2">
        <Mark name={workspace.name} />
        <span className="truncate font-semibold">{workspace.name}</span>
      </div>
    );
  }
  return agency ? <Clients /> : <Switcher title={t`Workspaces`} places={workspaces} />;
}

function Clients() {
  const { t } = useLingui();
  const clients = useRead('GET /api/agency/subaccounts', {}).data?.subAccounts ?? [];
  const { workspace } = useIdentity();
  const first = useSession()?.first ?? workspace;
  const places = clients.map(({ idpOrgId, name }) => ({ _id: idpOrgId, name }));
  const isClient = places.some(({ _id }) => _id === first._id || _id === workspace.liveWorkspaceId);
  return <Switcher title={t`Clients`} places={isClient ? places : [first, ...places]} />;
}

function Switcher({ title, places }: { title: string; places: Identity['workspaces'] }) {
  const { workspace } = useIdentity();
  const switchTo = useSwitchWorkspace();
  const choose = (workspaceId: string): void => {
    if (workspaceId !== workspace._id) switchTo(workspaceId);
  };
  return (
    <Menu
      trigger={
        <button
          type="button"
          className="flex h-9 min-w-0 flex-1 items-center gap-2.5 rounded-lg px-2 hover:bg-hover"
        >
          <Mark name={workspace.name} />
          <span className="sr-only">
            <Trans>Workspace:</Trans>
          </span>
          <span className="min-w-0 flex-1 truncate text-left font-semibold">{workspace.name}</span>
          <ChevronsUpDown className="size-4 shrink-0 text-muted" aria-hidden="true" />
        </button>
      }
      groups={[
        {
          title,
          items: places.map(({ _id, name }) => ({
            label: name,
            icon: <Mark name={name} />,
            checked: _id === workspace._id,
            onSelect: () => choose(_id),
          })),
        },
      ]}
    />
  );
}

const Mark = ({ name }: { name: string }) => (
  <span
    aria-hidden="true"
    className="flex size-6 shrink-0 items-center justify-center rounded-md bg-accent text-xs font-semibold text-white"
  >
    {name.trim().charAt(0).toUpperCase() || '?'}
  </span>
);
