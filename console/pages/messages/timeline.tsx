import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { classes } from '#console/components/class-names.ts';
import { fullTimeOf } from '#console/lib/format.ts';
import { type Event, eventText } from './event-text.ts';

export type Timeline = ResponseOf<'GET /api/messages/{id}/timeline'>;

const DOTS: Partial<Record<Event['type'], string>> = {
  sent: 'bg-info',
  delivered: 'bg-good',
  read: 'bg-good',
  clicked: 'bg-good',
  fallback: 'bg-warn',
  failed: 'bg-bad',
  webhook_failed: 'bg-bad',
};

/** What has happened to a message, oldest first. */
export function Events({ events }: { events: readonly Event[] }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  return (
    <ol aria-label={t`Timeline`}>
      {events.map((event, index) => (
        <li key={index} className="relative flex gap-3 pb-4 last:pb-0">
          {index < events.length - 1 && (
            <span className="absolute top-3 bottom-[-0.375rem] left-1 w-px bg-line" aria-hidden="true" />
          )}
          <span
            className={classes('mt-1.5 size-2.25 shrink-0 rounded-full', DOTS[event.type] ?? 'bg-edge')}
            aria-hidden="true"
          />
          <div className="min-w-0">
            <p className="break-words">{eventText(event, zone)}</p>
            <p className="text-xs text-muted">
              <time dateTime={event.at}>{fullTimeOf(event.at, zone)}</time>
              <DeliveryLink event={event} />
            </p>
          </div>
        </li>
      ))}
    </ol>
  );
}

function DeliveryLink({ event: { type, data } }: { event: Event }) {
  if (type !== 'webhook_delivered' && type !== 'webhook_failed') return null;
  const { webhookId, deliveryId } = data;
  if (typeof webhookId !== 'string' || typeof deliveryId !== 'string') return null;
  return (
    <>
      {' · '}
      <Link
        to="/webhooks"
        search={{ webhook: webhookId, delivery: deliveryId }}
        className="text-accent-ink hover:underline"
      >
        <Trans>Delivery</Trans>
      </Link>
    </>
  );
}
