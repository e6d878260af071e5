import { i18n } from '@lingui/core';
import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
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

const columns = (): readonly Column<Client>[] => [
  {
    header: t`Client`,
    width: 'minmax(9rem, 2fr)',
    cell: ({ name }) => <span className="font-medium">{name}</span>,
  },
  {
    header: t`Emails about`,
    width: 'minmax(8rem, 3fr)',
    cell: ({ preferences }) => <span className="text-muted">{topicsOf(preferences)}</span>,
  },
];

function topicsOf(preferences: Client['preferences']): string {
  const on = EMAIL_TOPICS.filter((topic) => preferences[topic].enabled);
  if (on.length === EMAIL_TOPICS.length) return t`All topics`;
  return on.map((topic) => i18n._(TOPICS[topic].label)).join(', ') || t`None`;
}

/** Which emails each client gets; a row opens the client's own settings. */
export default function AgencyEmails() {
  const { t } = useLingui();
  const clients = useRead('GET /api/agency/email-preferences', {});
  const switchTo = useSwitchWorkspace();
  return (
    <Card
      title={t`Emails of all clients`}
      actions={
        <div className="flex flex-wrap justify-end gap-2">
          <Switch to />
          <Switch to={false} />
        </div>
      }
      className="overflow-hidden"
    >
      <div className="h-[50vh] min-h-80">
        <ReadTable
          label={t`Emails of all clients`}
          rowHeight={48}
          columns={columns()}
          read={clients}
          rows={clients.data?.workspaces}
          rowKey={({ workspaceId }) => workspaceId}
          onOpen={({ workspaceId }) => switchTo(workspaceId, { to: '/settings', search: { tab: 'emails' } })}
          empty={
            <EmptyState title={t`No clients yet`}>
              <Trans>Add the first one under Clients.</Trans>
            </EmptyState>
          }
        />
      </div>
    </Card>
  );
}

/** The API does not keep what each client had chosen before, so there is no undo. */
function Switch({ to: enabled }: { to: boolean }) {
  const { t } = useLingui();
  const save = useWrite('POST /api/agency/email-preferences', {
    refresh: ['GET /api/agency/email-preferences', 'GET /api/email-preferences'],
  });
  const switchAll = enabled ? t`Turn all on` : t`Turn all off`;
  return (
    <ConfirmButton
      kind="secondary"
      label={switchAll}
      title={enabled ? t`Turn all emails of all clients on?` : t`Turn all emails of all clients off?`}
      confirm={switchAll}
      busy={save.isPending}
      onConfirm={() =>
        save.mutate(
          { body: { enabled } },
          {
            onSuccess: () => toast(enabled ? t`All emails are on` : t`All emails are off`),
            onError: toastError,
          },
        )
      }
    >
      {enabled
        ? t`Every client gets emails about every topic, also about those that it has turned off.`
        : t`No client gets any emails until they are turned on again, here or in its own settings.`}
    </ConfirmButton>
  );
}
