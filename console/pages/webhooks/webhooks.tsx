import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useLiveInterval } from '#console/api/live.ts';
import { useReadPages } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { Page } from '#console/components/page.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { type Column, Table } from '#console/components/table.tsx';
import { fullTimeOf, shortTimeOf } from '#console/lib/format.ts';
import { useSearchParam } from '#console/lib/search.ts';
import { CreateWebhook } from './create-webhook.tsx';
import { State } from './state.tsx';
import { EVENT_NAMES, useMayChange, type Webhook, webhookName } from './webhook.ts';
import { WebhookDrawer } from './webhook-drawer.tsx';

const REFRESH_MS = 15_000;

const COLUMNS: readonly Column<Webhook>[] = [
  {
    header: 'Webhook',
    width: 'minmax(0, 3fr)',
    cell: (webhook) => (
      <>
        <p className="truncate font-medium">{webhookName(webhook)}</p>
        <p className="truncate text-xs text-muted">{webhook.url}</p>
      </>
    ),
  },
  {
    header: 'Events',
    width: 'minmax(8rem, 2fr)',
    wide: true,
    cell: ({ events }) => (
      <span className="text-muted">
        {events.length === EVENT_NAMES.length ? 'All events' : events.join(', ')}
      </span>
    ),
  },
  { header: 'State', width: '6rem', cell: (webhook) => <State webhook={webhook} /> },
  {
    header: 'Last delivery',
    width: '8rem',
    right: true,
    wide: true,
    cell: (webhook) => <LastDelivery webhook={webhook} />,
  },
];

export default function Webhooks() {
  const live = useLiveInterval();
  const webhooks = useReadPages(
    'GET /api/webhooks',
    { query: { limit: 100 } },
    { refetchInterval: live || REFRESH_MS },
  );
  const rows = useMemo(() => webhooks.data?.pages.flatMap((page) => page.webhooks), [webhooks.data]);
  const [selected, select] = useSearchParam('webhook');
  const [creating, setCreating] = useState(false);
  const create = useMayChange() && (
    <Button
      kind="primary"
      icon={<Plus className="size-4" aria-hidden="true" />}
      onClick={() => setCreating(true)}
    >
      Add a webhook
    </Button>
  );
  return (
    <Page title="Webhooks" description="URLs that receive the events of this workspace" actions={create} fill>
      <div className="min-h-0 flex-1 border-t border-line bg-surface">
        {webhooks.error && !rows ? (
          <ErrorState error={webhooks.error} retry={() => void webhooks.refetch()} />
        ) : !rows ? (
          <SkeletonRows />
        ) : rows.length === 0 ? (
          <EmptyState
            icon={<WebhookIcon className="size-5" aria-hidden="true" />}
            title="No webhooks yet"
            action={create}
          >
            A webhook sends events, such as a reply of a contact, to a URL of yours as they happen.
          </EmptyState>
        ) : (
          <Table
            label="Webhooks"
            columns={COLUMNS}
            rows={rows}
            rowKey={({ _id }) => _id}
            rowHeight={60}
            selected={selected}
            onOpen={({ _id }) => select(_id)}
            hasMore={webhooks.hasNextPage}
            loadMore={() => {
              if (!webhooks.isFetching) void webhooks.fetchNextPage();
            }}
          />
        )}
      </div>
      <WebhookDrawer id={selected} />
      <CreateWebhook open={creating} close={() => setCreating(false)} />
    </Page>
  );
}

function LastDelivery({ webhook: { lastSuccessAt, lastFailureAt } }: { webhook: Webhook }) {
  const zone = useTimeZone();
  const at = [lastSuccessAt, lastFailureAt]
    .filter((time) => time !== null)
    .toSorted()
    .at(-1);
  if (at === undefined) return <span className="text-muted">None yet</span>;
  return (
    <time dateTime={at} title={fullTimeOf(at, zone)} className="text-muted">
      {shortTimeOf(at, zone)}
    </time>
  );
}
