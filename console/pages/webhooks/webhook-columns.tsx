import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge, Status } from '#console/components/badge.tsx';
import type { Column } from '#console/components/table.tsx';
import { fullTimeOf, shortTimeOf } from '#console/lib/format.ts';
import { eventsOf, isFailing, type Webhook, webhookName } from './webhook.ts';

export const webhookColumns = () =>
  ({
    webhook: {
      header: t`Webhook`,
      width: 'minmax(0, 3fr)',
      cell: (webhook: Webhook) => (
        <>
          <p className="truncate font-medium">{webhookName(webhook)}</p>
          <p className="truncate text-xs text-muted">{webhook.url}</p>
        </>
      ),
    },
    events: {
      header: t`Events`,
      width: 'minmax(8rem, 2fr)',
      wide: true,
      cell: (webhook: Webhook) => <span className="text-muted">{eventsOf(webhook)}</span>,
    },
    state: { header: t`State`, width: '6rem', cell: (webhook: Webhook) => <State webhook={webhook} /> },
    lastDelivery: {
      header: t`Last delivery`,
      width: '8rem',
      right: true,
      wide: true,
      cell: (webhook: Webhook) => <LastDelivery webhook={webhook} />,
    },
  }) satisfies Record<string, Column<Webhook>>;

/** Whether it is on, and whether its URL accepts deliveries. */
export function State({ webhook }: { webhook: Webhook }) {
  if (!webhook.isActive) return <Status status="off" />;
  return isFailing(webhook) ? (
    <Badge tone="bad">
      <Trans>Failing</Trans>
    </Badge>
  ) : (
    <Status status="active" />
  );
}

function LastDelivery({ webhook: { lastSuccessAt, lastFailureAt } }: { webhook: Webhook }) {
  const zone = useTimeZone();
  const at = [lastSuccessAt, lastFailureAt]
    .filter((time) => time !== null)
    .toSorted()
    .at(-1);
  if (at === undefined)
    return (
      <span className="text-muted">
        <Trans>None yet</Trans>
      </span>
    );
  return (
    <time dateTime={at} title={fullTimeOf(at, zone)} className="text-muted">
      {shortTimeOf(at, zone)}
    </time>
  );
}
