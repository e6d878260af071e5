import { t } from '@lingui/core/macro';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { ArrowRight, Plus } from 'lucide-react';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { Drawer } from '#console/components/dialog.tsx';
import { Fact, Facts } from '#console/components/facts.tsx';
import { issueOf, SelectField } from '#console/components/field.tsx';
import { Card } from '#console/components/page.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { useSearchParam } from '#console/lib/search.ts';
import { useSwitchWorkspace } from '#console/lib/switch-workspace.ts';
import { DeleteWebhook } from '#console/pages/webhooks/delete-webhook.tsx';
import { Secret } from '#console/pages/webhooks/secret.tsx';
import { eventsOf, type Webhook, webhookName } from '#console/pages/webhooks/webhook.ts';
import { State, webhookColumns } from '#console/pages/webhooks/webhook-columns.tsx';
import { WebhookForm } from '#console/pages/webhooks/webhook-form.tsx';

/** A webhook, and the name of the client that it belongs to. */
type ClientWebhook = Webhook & { client: string };

const columns = (): readonly Column<ClientWebhook>[] => {
  const { webhook, state, lastDelivery } = webhookColumns();
  return [
    webhook,
    { header: t`Client`, width: 'minmax(7rem, 1.5fr)', cell: ({ client }) => client },
    state,
    lastDelivery,
  ];
};

/** The webhooks of all clients; a row opens one of them. */
export default function AgencyWebhooks() {
  const { t } = useLingui();
  const webhooks = useRead('GET /api/agency/webhooks', {});
  const clients = useRead('GET /api/agency/subaccounts', {});
  const [selected, select] = useSearchParam('webhook');
  const [adding, setAdding] = useState(false);
  const subAccounts = clients.data?.subAccounts ?? [];
  const names = new Map(subAccounts.map(({ idpOrgId, name }) => [idpOrgId, name]));
  const rows = webhooks.data?.webhooks.map((webhook) => ({
    ...webhook,
    client: names.get(webhook.workspaceId) ?? webhook.workspaceId,
  }));
  const without = webhooks.data?.workspacesWithoutWebhook ?? [];
  const add = (
    <Button
      small
      kind="primary"
      icon={<Plus className="size-4" aria-hidden="true" />}
      onClick={() => setAdding(true)}
    >
      <Trans>Add a webhook</Trans>
    </Button>
  );
  return (
    <Card title={t`Webhooks of all clients`} actions={add} className="overflow-hidden">
      {rows && rows.length > 0 && without.length > 0 && <Without names={without.map(({ name }) => name)} />}
      <div className="h-[50vh] min-h-80">
        <ReadTable
          label={t`Webhooks of all clients`}
          columns={columns()}
          read={webhooks}
          rows={rows}
          rowKey={({ _id }) => _id}
          selected={selected}
          onOpen={({ _id }) => select(_id)}
          empty={
            <EmptyState title={t`No client has a webhook`}>
              <Trans>Add one for a single client, or the same one for all of them.</Trans>
            </EmptyState>
          }
        />
      </div>
      <ClientWebhookDrawer webhook={rows?.find(({ _id }) => _id === selected)} close={() => select('')} />
      {adding && <AddClientWebhook names={names} close={() => setAdding(false)} />}
    </Card>
  );
}

/** More names than these are shown on request. */
const FEW = 5;

function Without({ names }: { names: readonly string[] }) {
  const { length: count } = names;
  const list = names.toSorted((a, b) => a.localeCompare(b)).join(', ');
  const place = 'border-b border-line px-4 py-2.5 text-muted';
  if (count <= FEW)
    return (
      <p className={place}>
        <Trans>Without a webhook: {list}</Trans>
      </p>
    );
  return (
    <details className={place}>
      <summary className="cursor-pointer">
        <Plural value={count} one="# client is without a webhook" other="# clients are without a webhook" />
      </summary>
      <p className="mt-1.5">{list}</p>
    </details>
  );
}

const ALL = 'all';

/** Adds a webhook to one client, or one to each. */
function AddClientWebhook({ names, close }: { names: ReadonlyMap<string, string>; close: () => void }) {
  const { t } = useLingui();
  const [workspaceId, setWorkspaceId] = useState(ALL);
  const { mutate, data, isPending, error } = useWrite('POST /api/agency/webhooks', {
    refresh: ['GET /api/agency/webhooks', 'GET /api/webhooks'],
  });
  return (
    <WebhookForm
      close={close}
      create={(input) => mutate({ body: { ...input, workspaceId } })}
      secrets={
        data && (
          <ul className="flex flex-col gap-5">
            {data.webhooks.map(({ _id, workspaceId: id, secret }) => (
              <li key={_id}>
                <h3 className="mb-1.5 font-medium">{names.get(id) ?? id}</h3>
                <Secret secret={secret} />
              </li>
            ))}
          </ul>
        )
      }
      busy={isPending}
      error={error}
      fields={['workspaceId']}
    >
      <SelectField
        label={t`Client`}
        value={workspaceId}
        options={[
          { value: ALL, label: t`All clients` },
          ...[...names].map(([value, label]) => ({ value, label })),
        ]}
        hint={workspaceId === ALL ? t`Each client gets a webhook with its own signing secret.` : undefined}
        onChange={(event) => setWorkspaceId(event.target.value)}
        error={issueOf(error, 'workspaceId')}
      />
    </WebhookForm>
  );
}

function ClientWebhookDrawer({ webhook, close }: { webhook: ClientWebhook | undefined; close: () => void }) {
  const { t } = useLingui();
  const switchTo = useSwitchWorkspace();
  const client = webhook?.client;
  return (
    <Drawer
      open={webhook !== undefined}
      onClose={close}
      title={webhook ? webhookName(webhook) : t`Webhook`}
      description={webhook && <span className="break-all">{webhook.url}</span>}
    >
      {webhook && (
        <div className="flex flex-col gap-5">
          <Facts>
            <Fact name={t`Client`}>{webhook.client}</Fact>
            <Fact name={t`State`}>
              <State webhook={webhook} />
            </Fact>
            <Fact name={t`Events`}>{eventsOf(webhook)}</Fact>
          </Facts>
          <div>
            <Button
              icon={<ArrowRight className="size-4" aria-hidden="true" />}
              onClick={() =>
                switchTo(webhook.workspaceId, { to: '/webhooks', search: { webhook: webhook._id } })
              }
            >
              <Trans>Deliveries and settings, at {client}</Trans>
            </Button>
          </div>
          <DeleteWebhook webhook={webhook} endpoint="DELETE /api/agency/webhooks/{id}" onDeleted={close} />
        </div>
      )}
    </Drawer>
  );
}
