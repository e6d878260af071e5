import { z } from 'zod';
import { conversationsOfDay } from '#db/queries/analytics/analytics-conversations.ts';
import { countByBucket, countMessages } from '#db/queries/analytics/analytics.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import {
  AnalyticsQuery,
  analyticsFilter,
  buckets,
  Interval,
  MAX_BUCKETS,
  SERIES_YEARS,
} from '#domain/analytics/analytics.ts';
import { DayConversation } from '#domain/analytics/analytics-conversation.ts';
import { TimeZone } from '#domain/base/time-zone.ts';
import { Id } from '#domain/base/ids.ts';
import { EXPLAINER, Metrics, metricsOf, NO_COUNTS } from '#domain/analytics/metrics.ts';
import { dayOf } from '#domain/base/moment.ts';
import { attachment } from '#api/http/csv.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';

const Explainer = z.record(z.string(), z.string()).meta({ description: 'What each metric counts.' });

const AgencyId = z.string().optional().meta({ description: 'Reserved; responds 501.' });

function ofWorkspace<T extends { agencyId?: string | undefined }>({ agencyId, ...query }: T) {
  if (agencyId !== undefined) throw new ApiError('AGENCY_NOT_AVAILABLE');
  return query;
}

/** The maximum number of conversations listed for a day. */
const MAX_CONVERSATIONS = 60;

const SeriesQuery = AnalyticsQuery.extend({
  agencyId: AgencyId,
  interval: Interval.default('day'),
  timezone: TimeZone.optional().meta({ description: "Default: the workspace's." }),
  tz: TimeZone.optional().meta({ description: 'Short for `timezone`.' }),
});

/** The length of a series without `dateFrom`. */
const DEFAULT_SPAN_DAYS = { hour: 1, day: 30, week: 84 } as const;

const Point = z
  .object({ start: z.iso.datetime(), end: z.iso.datetime(), ...Metrics.shape })
  .meta({ id: 'MetricsOfInterval' });

export const analyticsRoutes = [
  workspaceRoute({
    id: 'getAnalytics',
    method: 'GET',
    path: '/api/analytics',
    tag: 'Analytics',
    heavy: true,
    summary: 'Get the metrics of all messages that match the filters',
    query: AnalyticsQuery.extend({ agencyId: AgencyId }),
    responses: {
      200: z.object({
        success: z.literal(true),
        filter: AnalyticsQuery,
        metrics: Metrics,
        explainer: Explainer,
      }),
    },
    errors: ['AGENCY_NOT_AVAILABLE'],
    async handler({ db, caller, query }) {
      const filter = ofWorkspace(query);
      const { timezone } = caller.workspace;
      const counts = await countMessages(db, analyticsFilter(filter, timezone), timezone);
      return {
        status: 200,
        body: { success: true, filter, metrics: metricsOf(counts), explainer: EXPLAINER },
      };
    },
  }),

  workspaceRoute({
    id: 'listDayConversations',
    method: 'GET',
    path: '/api/analytics/conversations',
    tag: 'Analytics',
    heavy: true,
    summary: 'List the conversations of a calendar day, most recent activity first',
    query: z.object({
      date: z.iso.date(),
      lineId: Id.optional(),
      timezone: TimeZone.optional().meta({ description: "Default: the workspace's." }),
      tz: TimeZone.optional().meta({ description: 'Short for `timezone`.' }),
    }),
    responses: {
      200: z.object({
        success: z.literal(true),
        date: z.iso.date(),
        timezone: z.string(),
        total: z.int().meta({ description: 'All active conversations of the day.' }),
        returned: z.int(),
        conversations: z.array(DayConversation),
      }),
    },
    async handler({ db, caller, query }) {
      const timezone = query.timezone ?? query.tz ?? caller.workspace.timezone;
      const { total, conversations } = await conversationsOfDay(db, dayOf(query.date, timezone), {
        lineId: query.lineId,
        limit: MAX_CONVERSATIONS,
      });
      const body = {
        success: true,
        date: query.date,
        timezone,
        total,
        returned: conversations.length,
        conversations,
      } as const;
      return { status: 200, body };
    },
  }),

  workspaceRoute({
    id: 'getAnalyticsTimeseries',
    method: 'GET',
    path: '/api/analytics/timeseries',
    tag: 'Analytics',
    heavy: true,
    summary: 'Get the metrics per hour, day or week',
    description: 'A contact counts once per interval. Intervals without messages are included with zeros.',
    query: SeriesQuery,
    responses: {
      200: z.object({
        success: z.literal(true),
        interval: Interval,
        timezone: z.string(),
        filter: AnalyticsQuery,
        series: z.array(Point),
      }),
    },
    errors: ['AGENCY_NOT_AVAILABLE'],
    async handler({ db, caller, query, now }) {
      const { points, ...rest } = await series(db, query, caller.workspace.timezone, now);
      return { status: 200, body: { success: true, ...rest, series: points } };
    },
  }),

  workspaceRoute({
    id: 'exportAnalytics',
    method: 'GET',
    path: '/api/analytics/export',
    tag: 'Analytics',
    heavy: true,
    summary: 'Export the metrics per interval as CSV',
    query: SeriesQuery,
    produces: 'text/csv',
    responses: { 200: z.string() },
    errors: ['AGENCY_NOT_AVAILABLE'],
    async handler({ db, caller, query, now }) {
      const { points } = await series(db, query, caller.workspace.timezone, now);
      const columns = Object.keys(Point.shape) as (keyof z.output<typeof Point>)[];
      // Dates and numbers require no quoting.
      const lines = [
        columns.join(','),
        ...points.map((point) => columns.map((name) => point[name]).join(',')),
      ];
      return { status: 200, body: `${lines.join('\r\n')}\r\n`, headers: attachment('analytics.csv') };
    },
  }),
];

async function series(db: TenantDb, query: z.output<typeof SeriesQuery>, workspaceZone: string, now: Date) {
  const { interval, timezone: zone, tz, ...filter } = ofWorkspace(query);
  const timezone = zone ?? tz ?? workspaceZone;
  const bounds = analyticsFilter(filter, timezone);
  const to = bounds.to ?? now;
  const from = bounds.from ?? new Date(to.getTime() - DEFAULT_SPAN_DAYS[interval] * 86_400_000);
  for (const [name, at] of [
    ['dateFrom', from],
    ['dateTo', to],
  ] as const) {
    const year = at.getUTCFullYear();
    if (year < SERIES_YEARS.first || year > SERIES_YEARS.last)
      throw invalid(name, `must be in the years ${SERIES_YEARS.first} to ${SERIES_YEARS.last}`);
  }
  const parts = buckets(interval, timezone, { from, to });
  if (parts.length > MAX_BUCKETS)
    throw invalid('interval', `gives more than ${MAX_BUCKETS} points: choose a longer interval`);
  const zones = { ofBuckets: timezone, ofWorkspace: workspaceZone };
  const counts = parts.length === 0 ? [] : await countByBucket(db, { ...bounds, from }, parts, zones);
  const points = parts.map(({ start, end }, index) => ({
    start: start.toISOString(),
    end: end.toISOString(),
    ...metricsOf(counts[index] ?? NO_COUNTS),
  }));
  return {
    interval,
    timezone,
    filter: { ...filter, dateFrom: from.toISOString(), dateTo: to.toISOString() },
    points,
  };
}
