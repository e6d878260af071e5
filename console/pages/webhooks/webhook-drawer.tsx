import { Trans, useLingui } from '@lingui/react/macro';
import { useNavigate } from '@tanstack/react-router';
import { Radio } from 'lucide-react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { Drawer } from '#console/components/dialog.tsx';
import { PowerButton } from '#console/components/power-button.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { Tabs } from '#console/components/tabs.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { useSearchParam } from '#console/lib/search.ts';
import { useIsAdmin } from '#console/api/workspace.ts';
import { Deliveries } from './deliveries.tsx';
import { Settings } from './settings.tsx';
import { type Webhook, webhookName } from './webhook.ts';
import { State } from './webhook-columns.tsx';

const REFRESH = ['GET /api/webhooks', 'GET /api/webhooks/{id}'] as const;

/** One webhook: its deliveries and its settings. */
export function WebhookDrawer({ id }: { id: string }) {
  const { t } = useLingui();
  const navigate = useNavigate();
  const [tab, setTab] = useSearchParam('tab');
  const { data, error, refetch } = useRead(
    'GET /api/webhooks/{id}',
    { params: { id } },
    { enabled: id !== '' },
  );
  const close = (): void => void navigate({ to: '/webhooks', replace: true });
  const webhook = id === '' ? undefined : data?.webhook;
  return (
    <Drawer
      open={id !== ''}
      onClose={close}
      title={webhook ? webhookName(webhook) : t`Webhook`}
      description={webhook && <span className="break-all">{webhook.url}</span>}
    >
      {id === '' ? null : webhook ? (
        <div className="flex flex-col gap-4">
          <Actions webhook={webhook} />
          <Tabs
            label={t`About this webhook`}
            value={tab || 'deliveries'}
            onChange={(next) => setTab(next === 'deliveries' ? '' : next)}
            tabs={[
              {
                value: 'deliveries',
                label: t`Deliveries`,
                content: <Deliveries key={id} webhook={webhook} />,
              },
              {
                value: 'settings',
                label: t`Settings`,
                content: <Settings key={id} webhook={webhook} onDeleted={close} />,
              },
            ]}
          />
        </div>
      ) : error ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : (
        <SkeletonRows rows={4} />
      )}
    </Drawer>
  );
}

function Actions({ webhook }: { webhook: Webhook }) {
  const mayChange = useIsAdmin();
  return (
    <div className="flex flex-wrap items-center gap-2">
      <State webhook={webhook} />
      <span className="flex-1" />
      <Ping webhook={webhook} />
      {mayChange && <Switch webhook={webhook} />}
    </div>
  );
}

function Ping({ webhook }: { webhook: Webhook }) {
  const { t } = useLingui();
  const ping = useWrite('POST /api/webhooks/{id}/health-check', {
    refresh: ['GET /api/webhooks/{id}/deliveries', ...REFRESH],
  });
  return (
    <Button
      small
      busy={ping.isPending}
      disabled={!webhook.isActive}
      icon={<Radio className="size-4" aria-hidden="true" />}
      onClick={() =>
        ping.mutate(
          { params: { id: webhook._id } },
          {
            onSuccess: ({ responseStatus, latencyMs }) =>
              toast(t`The test event was delivered`, {
                description: t`Status ${responseStatus}, after ${latencyMs} ms`,
              }),
            onError: toastError,
          },
        )
      }
    >
      <Trans>Send a test event</Trans>
    </Button>
  );
}

function Switch({ webhook }: { webhook: Webhook }) {
  const update = useWrite('PATCH /api/webhooks/{id}', { refresh: REFRESH });
  return (
    <PowerButton
      name={webhookName(webhook)}
      isActive={webhook.isActive}
      busy={update.isPending}
      set={(isActive, callbacks) =>
        update.mutate({ params: { id: webhook._id }, body: { isActive } }, callbacks)
      }
    />
  );
}
