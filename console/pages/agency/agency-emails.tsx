import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { Card } from '#console/components/page.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { useSwitchWorkspace } from '#console/lib/switch-workspace.ts';
import { EMAIL_TOPICS, TOPICS } from '#console/pages/settings/email-preferences.tsx';

type Client = ResponseOf<'GET /api/agency/email-preferences'>['workspaces'][number];

const COLUMNS: readonly Column<Client>[] = [
  {
    header: 'Client',
    width: 'minmax(9rem, 2fr)',
    cell: ({ name }) => <span className="font-medium">{name}</span>,
  },
  {
    header: 'Emails about',
    width: 'minmax(8rem, 3fr)',
    cell: ({ preferences }) => <span className="text-muted">{topicsOf(preferences)}</span>,
  },
];

function topicsOf(preferences: Client['preferences']): string {
  const on = EMAIL_TOPICS.filter((topic) => preferences[topic].enabled);
  if (on.length === EMAIL_TOPICS.length) return 'All topics';
  return on.map((topic) => TOPICS[topic].label).join(', ') || 'None';
}

/** Which emails each client gets; a row opens the client's own settings. */
export function AgencyEmails() {
  const clients = useRead('GET /api/agency/email-preferences', {});
  const switchTo = useSwitchWorkspace();
  return (
    <Card
      title="Emails of all clients"
      actions={
        <div className="flex gap-2">
          <Switch to />
          <Switch to={false} />
        </div>
      }
      className="overflow-hidden"
    >
      <div className="h-[50vh] min-h-80">
        <ReadTable
          label="Emails of all clients"
          rowHeight={48}
          columns={COLUMNS}
          read={clients}
          rows={clients.data?.workspaces}
          rowKey={({ workspaceId }) => workspaceId}
          onOpen={({ workspaceId }) => switchTo(workspaceId, { to: '/settings', search: { tab: 'emails' } })}
          empty={<EmptyState title="No clients yet">Add the first one under Clients.</EmptyState>}
        />
      </div>
    </Card>
  );
}

/** The API does not keep what each client had chosen before, so there is no undo. */
function Switch({ to: enabled }: { to: boolean }) {
  const save = useWrite('POST /api/agency/email-preferences', {
    refresh: ['GET /api/agency/email-preferences', 'GET /api/email-preferences'],
  });
  const word = enabled ? 'on' : 'off';
  return (
    <ConfirmButton
      kind="secondary"
      label={`Turn all ${word}`}
      title={`Turn all emails of all clients ${word}?`}
      confirm={`Turn all ${word}`}
      busy={save.isPending}
      onConfirm={() =>
        save.mutate(
          { body: { enabled } },
          { onSuccess: () => toast(`All emails are ${word}`), onError: toastError },
        )
      }
    >
      {enabled
        ? 'Every client gets emails about every topic, also about those that it has turned off.'
        : 'No client gets any emails until they are turned on again, here or in its own settings.'}
    </ConfirmButton>
  );
}
