import { Readable } from 'node:stream';
import { z } from 'zod';
import type { ApiPools } from '#db/connection/pools.ts';
import { countByBucket } from '#db/queries/analytics/analytics.ts';
import {
  type ChangeFilter,
  countOptOutChanges,
  listOptOutChanges,
  presentChange,
} from '#db/queries/contacts/opt-out-history.ts';
import { withTenantReads } from '#db/connection/transactions.ts';
import { AnalyticsQuery, analyticsFilter, buckets } from '#domain/analytics/analytics.ts';
import { csvLine } from '#domain/base/csv.ts';
import { OptOutChange } from '#domain/contacts/opt-out.ts';
import { attachment, csvLines } from '#api/http/csv.ts';
import { pageBy, PositionQuery } from '#api/http/cursor.ts';
import { NextCursor, wholeNumber } from '#api/http/page.ts';
import { ResponseStream, workspaceRoute } from '#api/http/route.ts';

const HistoryQuery = AnalyticsQuery.pick({ dateFrom: true, dateTo: true }).extend({
  change: OptOutChange.shape.change.optional(),
});

const Week = z
  .object({
    start: z.iso.datetime(),
    end: z.iso.datetime(),
    optedOut: z.int(),
    optedIn: z.int(),
    sent: z.int().meta({ description: 'Messages sent in the week.' }),
    optedOutShare: z.number().nullable().meta({ description: '`optedOut` of `sent`; null: none were sent.' }),
  })
  .meta({ id: 'OptOutWeek' });

const WEEK_MS = 7 * 86_400_000;

/** Rows in memory at a time; a text has up to 80 KB. */
const PAGE = 200;

const filterOf = ({ change, ...period }: z.output<typeof HistoryQuery>, timezone: string): ChangeFilter => ({
  change,
  ...analyticsFilter(period, timezone),
});

export const optOutHistoryRoutes = [
  workspaceRoute({
    id: 'listOptOutHistory',
    method: 'GET',
    path: '/api/opt-outs/history',
    tag: 'Opt-outs',
    summary: 'List opt-outs and opt-ins as they happened, with what the contacts wrote, newest first',
    description: 'Erased contacts are not included.',
    query: HistoryQuery.extend(PositionQuery.shape),
    responses: {
      200: z.object({ success: z.literal(true), changes: z.array(OptOutChange), nextCursor: NextCursor }),
    },
    async handler({ db, caller, query: { limit, cursor, ...query } }) {
      const filter = filterOf(query, caller.workspace.timezone);
      const rows = await listOptOutChanges(db, filter, { limit: limit + 1, after: cursor ?? null });
      const { items, nextCursor } = pageBy(rows, limit, ({ at, id }) => ({ at, key: id }));
      return { status: 200, body: { success: true, changes: items.map(presentChange), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'exportOptOutHistory',
    method: 'GET',
    path: '/api/opt-outs/history/export',
    tag: 'Opt-outs',
    transaction: false,
    summary: 'Export opt-outs and opt-ins as CSV, newest first',
    description: 'Cells that a spreadsheet would run as a formula are prefixed with an apostrophe.',
    query: HistoryQuery,
    produces: 'text/csv',
    responses: { 200: ResponseStream },
    async handler({ caller: { workspace }, query, pools }) {
      const lines = exported(pools, workspace.id, filterOf(query, workspace.timezone));
      return { status: 200, body: Readable.from(lines), headers: attachment('opt-outs.csv') };
    },
  }),

  workspaceRoute({
    id: 'getOptOutWeeks',
    method: 'GET',
    path: '/api/opt-outs/weeks',
    tag: 'Opt-outs',
    heavy: true,
    summary: 'Get the opt-outs and opt-ins per week, and their share of the messages sent',
    description: "Weeks begin on Monday in the workspace's time zone. The last one is the current week.",
    query: z.object({ weeks: wholeNumber(1, 104, 12) }),
    responses: { 200: z.object({ success: z.literal(true), timezone: z.string(), weeks: z.array(Week) }) },
    async handler({ db, caller, query, now }) {
      const { timezone } = caller.workspace;
      const from = new Date(now.getTime() - (query.weeks - 1) * WEEK_MS);
      // The clocks may have changed since.
      const weeks = buckets('week', timezone, { from, to: now }).slice(-query.weeks);
      const changes = await countOptOutChanges(db, weeks);
      const sent = await countByBucket(db, {}, weeks, { ofBuckets: timezone, ofWorkspace: timezone });
      const counted = weeks.map(({ start, end }, index) => {
        const { optedOut = 0, optedIn = 0 } = changes[index] ?? {};
        const messages = sent[index]?.sent ?? 0;
        return {
          start: start.toISOString(),
          end: end.toISOString(),
          optedOut,
          optedIn,
          sent: messages,
          optedOutShare: messages === 0 ? null : optedOut / messages,
        };
      });
      return { status: 200, body: { success: true, timezone, weeks: counted } };
    },
  }),
];

async function* exported(pools: ApiPools, workspaceId: string, filter: ChangeFilter) {
  yield csvLine(['at', 'address', 'change', 'source', 'message']);
  for (let after: { at: Date; key: string } | null = null; ;) {
    const rows = await withTenantReads(pools, workspaceId, (db) =>
      listOptOutChanges(db, filter, { limit: PAGE, after }),
    );
    yield* csvLines(rows.map(presentChange), ({ at, address, change, source, message }) => [
      at,
      address,
      change,
      source,
      message ?? '',
    ]);
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = { at: last.at, key: last.id };
  }
}
