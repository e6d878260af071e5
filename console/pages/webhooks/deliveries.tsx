import { Trans, useLingui } from '@lingui/react/macro';
import { ChevronDown, RotateCcw } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { useReadPages, useWrite } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge, Status } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { classes } from '#console/components/class-names.ts';
import { Fact, Facts } from '#console/components/facts.tsx';
import { ShowMore } from '#console/components/show-more.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { fullTimeOf, shortTimeOf } from '#console/lib/format.ts';
import { useSearchParam } from '#console/lib/search.ts';
import { Exchange } from './exchange.tsx';
import { ReplayFailed } from './replay-failed.tsx';
import type { Delivery, Webhook } from './webhook.ts';

/** The event stream does not report deliveries. */
const REFRESH_MS = 10_000;

/** What has been sent to the webhook in the last 30 days, newest first. */
export function Deliveries({ webhook }: { webhook: Webhook }) {
  const { t } = useLingui();
  const [selected, select] = useSearchParam('delivery');
  const deliveries = useReadPages(
    'GET /api/webhooks/{id}/deliveries',
    { params: { id: webhook._id }, query: { limit: 50 } },
    { refetchInterval: REFRESH_MS },
  );
  const rows = deliveries.data?.pages.flatMap((page) => page.deliveries);
  if (deliveries.error && !rows)
    return <ErrorState error={deliveries.error} retry={() => void deliveries.refetch()} />;
  if (!rows) return <SkeletonRows rows={4} />;
  if (rows.length === 0)
    return (
      <EmptyState title={t`No deliveries in the last 30 days`}>
        <Trans>Send a test event to see how the URL responds.</Trans>
      </EmptyState>
    );
  return (
    <>
      {webhook.isActive && rows.some(({ success }) => success === false) && (
        <div className="mb-2 flex justify-end">
          <ReplayFailed webhook={webhook} />
        </div>
      )}
      <ul aria-label={t`Deliveries`} className="divide-y divide-line rounded-lg border border-line">
        {rows.map((delivery) => (
          <Row
            key={delivery.id}
            webhook={webhook}
            delivery={delivery}
            isOpen={delivery.id === selected}
            toggle={() => select(delivery.id === selected ? '' : delivery.id)}
          />
        ))}
      </ul>
      <ShowMore read={deliveries} />
    </>
  );
}

function Row({
  webhook,
  delivery,
  isOpen,
  toggle,
}: {
  webhook: Webhook;
  delivery: Delivery;
  isOpen: boolean;
  toggle: () => void;
}) {
  const zone = useTimeZone();
  const element = useRef<HTMLLIElement>(null);
  const { id, event, createdAt, isReplayOf, success, responseStatus } = delivery;
  const openedByAddress = useRef(isOpen);
  useEffect(() => {
    if (openedByAddress.current) element.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  return (
    <li ref={element}>
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={isOpen ? `delivery-${id}` : undefined}
        onClick={toggle}
        className="flex w-full items-center gap-3 px-3 py-2.5 text-left -outline-offset-2 hover:bg-hover"
      >
        <Result delivery={delivery} />
        {success === false && responseStatus !== null && (
          <span className="text-xs text-muted tabular-nums">{responseStatus}</span>
        )}
        <code className="min-w-0 flex-1 truncate font-mono text-xs">{event}</code>
        {isReplayOf !== undefined && (
          <Badge>
            <Trans context="noun">Replay</Trans>
          </Badge>
        )}
        <time
          dateTime={createdAt}
          title={fullTimeOf(createdAt, zone)}
          className="shrink-0 text-xs text-muted"
        >
          {shortTimeOf(createdAt, zone)}
        </time>
        <ChevronDown
          className={classes('size-4 shrink-0 text-muted transition-transform', isOpen && 'rotate-180')}
          aria-hidden="true"
        />
      </button>
      {isOpen && <Details webhook={webhook} delivery={delivery} />}
    </li>
  );
}

function Result({ delivery: { success } }: { delivery: Delivery }) {
  return <Status status={success === null ? 'sending' : success ? 'delivered' : 'failed'} />;
}

function Details({ webhook, delivery }: { webhook: Webhook; delivery: Delivery }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  return (
    <div id={`delivery-${delivery.id}`} className="border-t border-line bg-canvas px-3 py-3">
      <Facts>
        <Fact name={t`Error`}>{delivery.error}</Fact>
        <Fact name={t`Response status`}>{delivery.responseStatus}</Fact>
        <Fact name={t`Latency`}>{delivery.latencyMs === null ? null : `${delivery.latencyMs} ms`}</Fact>
        <Fact name={t`Attempts`}>{delivery.attemptCount}</Fact>
        <Fact name={t`Created`}>{fullTimeOf(delivery.createdAt, zone)}</Fact>
        <Fact name={t`Event ID`}>{delivery.eventId}</Fact>
        <Fact name={t`Delivery ID`}>{delivery.id}</Fact>
        <Fact name={t`Replay of`}>{delivery.isReplayOf}</Fact>
      </Facts>
      {/* Read again once it is answered. */}
      <Exchange key={String(delivery.success)} webhook={webhook} delivery={delivery} />
      <div className="mt-3">
        <Replay webhook={webhook} delivery={delivery} />
      </div>
    </div>
  );
}

/** Sends the stored event again, to the current URL. */
function Replay({ webhook, delivery }: { webhook: Webhook; delivery: Delivery }) {
  const { t } = useLingui();
  const replay = useWrite('POST /api/webhooks/{id}/deliveries/{deliveryId}/replay', {
    refresh: ['GET /api/webhooks/{id}/deliveries', 'GET /api/webhooks', 'GET /api/webhooks/{id}'],
  });
  return (
    <Button
      small
      busy={replay.isPending}
      disabled={!webhook.isActive || delivery.success === null}
      icon={<RotateCcw className="size-4" aria-hidden="true" />}
      onClick={() =>
        replay.mutate(
          { params: { id: webhook._id, deliveryId: delivery.id } },
          {
            onSuccess: ({ responseStatus, latencyMs }) =>
              toast(t`The event was delivered again`, {
                description: t`Status ${responseStatus}, after ${latencyMs} ms`,
              }),
            onError: toastError,
          },
        )
      }
    >
      <Trans>Replay</Trans>
    </Button>
  );
}
