import { Trans, useLingui } from '@lingui/react/macro';
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useLiveInterval } from '#console/api/live.ts';
import { useReadPages } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { NearLimit } from '#console/components/near-limit.tsx';
import { Page } from '#console/components/page.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { EmptyState } from '#console/components/states.tsx';
import { useSearchParam } from '#console/lib/search.ts';
import { useIsAdmin } from '#console/api/workspace.ts';
import { CreateWebhook } from './create-webhook.tsx';
import { webhookColumns } from './webhook-columns.tsx';
import { WebhookDrawer } from './webhook-drawer.tsx';

const REFRESH_MS = 15_000;

export default function Webhooks() {
  const { t } = useLingui();
  const live = useLiveInterval();
  const webhooks = useReadPages('GET /api/webhooks', {}, { refetchInterval: live || REFRESH_MS });
  const rows = useMemo(() => webhooks.data?.pages.flatMap((page) => page.webhooks), [webhooks.data]);
  const [selected, select] = useSearchParam('webhook');
  const [creating, setCreating] = useState(false);
  const create = useIsAdmin() && (
    <Button
      kind="primary"
      icon={<Plus className="size-4" aria-hidden="true" />}
      onClick={() => setCreating(true)}
    >
      <Trans>Add a webhook</Trans>
    </Button>
  );
  return (
    <Page
      title={t`Webhooks`}
      description={t`URLs that receive the events of this workspace`}
      actions={create}
      fill
    >
      <NearLimit limit="webhooks" />
      <div className="min-h-0 flex-1 border-t border-line bg-surface">
        <ReadTable
          label={t`Webhooks`}
          columns={Object.values(webhookColumns())}
          read={webhooks}
          rows={rows}
          rowKey={({ _id }) => _id}
          selected={selected}
          onOpen={({ _id }) => select(_id)}
          empty={
            <EmptyState
              icon={<WebhookIcon className="size-5" aria-hidden="true" />}
              title={t`No webhooks yet`}
              action={create}
            >
              <Trans>
                A webhook sends events, such as a reply of a contact, to a URL of yours as they happen.
              </Trans>
            </EmptyState>
          }
        />
      </div>
      <WebhookDrawer id={selected} />
      {creating && <CreateWebhook close={() => setCreating(false)} />}
    </Page>
  );
}
