import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { lazy, Suspense, useMemo } from 'react';
import { useTimeZone } from '#console/api/workspace.ts';
import { Card } from '#console/components/page.tsx';
import { EmptyState, Skeleton } from '#console/components/states.tsx';
import { type Column, Table } from '#console/components/table.tsx';
import { dateOf, timeOf } from '#console/lib/format.ts';
import {
  explanationOf,
  isRate,
  METRICS,
  metricNamed,
  type MetricName,
  type Point,
  shownValue,
} from './metrics.ts';
import type { Period } from './period.ts';

const Plot = lazy(() => import('#console/components/plot.tsx'));

/** Whether nothing has happened in the period. */
export const isEmpty = (points: readonly Point[]): boolean =>
  points.every((point) => METRICS.every(({ name }) => point[name] === 0));

/** One metric over time. */
export function MetricOverTime({
  metric,
  points,
  interval,
}: {
  metric: MetricName;
  points: readonly Point[] | undefined;
  interval: Period['interval'];
}) {
  const { t } = useLingui();
  const label = t(metricNamed(metric).label);
  const title = { hour: t`${label} by hour`, day: t`${label} by day`, week: t`${label} by week` }[interval];
  return (
    <Card title={title} className="mt-4">
      <div className="p-4">
        <p className="mb-4 text-muted">{explanationOf(metric)}</p>
        <Suspense fallback={<Skeleton className="h-60" />}>
          {!points ? (
            <Skeleton className="h-60" />
          ) : isEmpty(points) ? (
            <EmptyState title={t`No messages in this period`}>
              <Trans>Choose another period, or fewer filters.</Trans>
            </EmptyState>
          ) : (
            <MetricPlot metric={metric} points={points} />
          )}
        </Suspense>
      </div>
    </Card>
  );
}

function MetricPlot({ metric, points }: { metric: MetricName; points: readonly Point[] }) {
  const { t } = useLingui();
  const { label: name, colour } = metricNamed(metric);
  const label = t(name);
  const times = useMemo(() => points.map(({ start }) => start), [points]);
  const series = useMemo(() => {
    const rate = isRate(metric);
    const values = points.map((point) => (rate ? Math.round(point[metric] * 1000) / 10 : point[metric]));
    return [{ label: rate ? `${label} (%)` : label, values, colour }];
  }, [points, metric, label, colour]);
  const highest = shownValue(metric, Math.max(...points.map((point) => point[metric])));
  const count = points.length;
  return (
    <Plot
      times={times}
      series={series}
      summary={t`${label}: at most ${highest} in each of ${count} intervals. The table below has all values.`}
    />
  );
}

/** All metrics of each interval, the latest first. */
export function Intervals({ points, interval }: { points: readonly Point[]; interval: Period['interval'] }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const columns: Column<Point>[] = [
    {
      header: t({ message: 'Start', context: 'noun' }),
      width: 'minmax(6rem, 1.2fr)',
      cell: ({ start }) =>
        interval === 'hour' ? `${dateOf(start, zone)}, ${timeOf(start, zone)}` : dateOf(start, zone),
    },
    ...METRICS.map(({ name, label }) => ({
      header: t(SHORT[name] ?? label),
      width: 'minmax(3.75rem, 1fr)',
      right: true,
      wide: !ON_PHONES.has(name),
      cell: (point: Point) => shownValue(name, point[name]),
    })),
  ];
  const rows = useMemo(() => points.toReversed(), [points]);
  return (
    <Card title={t`All metrics`} className="mt-4 overflow-hidden">
      <div className="h-96">
        <Table
          label={t`Metrics of each interval`}
          columns={columns}
          rows={rows}
          rowKey={({ start }) => start}
          rowHeight={38}
        />
      </div>
    </Card>
  );
}

/** Shorter, for column headers. */
const SHORT: Partial<Record<MetricName, MessageDescriptor>> = {
  sent: msg({ message: 'Sent', context: 'number of messages' }),
  reached: msg`Reached`,
  uniqueReplied: msg({ message: 'Replied', context: 'short' }),
  positiveReplied: msg({ message: 'Positive', context: 'number of contacts' }),
  replied: msg`Received`,
  repliedPct: msg({ message: 'Reply rate', context: 'short' }),
  fallback: msg({ message: 'Fallbacks', context: 'short' }),
};
const ON_PHONES = new Set<MetricName>(['sent', 'uniqueReplied']);
