import { useLingui } from '@lingui/react/macro';
import { useSearch } from '@tanstack/react-router';
import { addressOf } from '#console/api/client.ts';
import { useRead } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { ExportButton } from '#console/components/export-button.tsx';
import { Page } from '#console/components/page.tsx';
import { ErrorState } from '#console/components/states.tsx';
import { type Search, useSearchParam } from '#console/lib/search.ts';
import { workspaceNow } from '#console/lib/workspace-time.ts';
import { Figures } from './figures.tsx';
import { Filters } from './filters.tsx';
import { metricNamed } from './metrics.ts';
import { periodOf } from './period.ts';
import { Intervals, isEmpty, MetricOverTime } from './series.tsx';

/** How messages and replies develop, over time and by line, campaign or person. */
export default function Analytics() {
  const { t } = useLingui();
  const search: Search = useSearch({ strict: false });
  const zone = useTimeZone();
  const period = periodOf(search, zone, workspaceNow());
  const { dateFrom, dateTo, interval } = period;
  const filter = {
    dateFrom,
    dateTo,
    lineId: search['line'],
    campaignId: search['campaign'],
    userId: search['user'],
  };
  const totals = useRead('GET /api/analytics', { query: filter }, { keep: true });
  const series = useRead('GET /api/analytics/timeseries', { query: { ...filter, interval } }, { keep: true });
  const [selected, select] = useSearchParam('metric');
  const { name } = metricNamed(selected);
  const error = totals.error ?? series.error;
  const retry = (): void => {
    void totals.refetch();
    void series.refetch();
  };
  const points = series.data?.series;

  return (
    <Page
      title={t`Analytics`}
      description={t`Messages, by the day they were created, and replies, in the time zone ${zone}`}
      actions={
        <ExportButton
          address={addressOf('/api/analytics/export', {}, { ...filter, interval })}
          fileName={`analytics-${dateFrom}-to-${dateTo}.csv`}
        />
      }
    >
      <Filters search={search} period={period} />
      {error && (!totals.data || !series.data) ? (
        <ErrorState error={error} retry={retry} />
      ) : (
        <div className="mt-4">
          <Figures metrics={totals.data?.metrics} selected={name} onSelect={select} />
          <MetricOverTime metric={name} points={points} interval={series.data?.interval ?? interval} />
          {points && !isEmpty(points) && (
            <Intervals points={points} interval={series.data?.interval ?? interval} />
          )}
        </div>
      )}
    </Page>
  );
}
