import { z } from 'zod';
import { reassignMessagesOf } from '#db/commands/lines/line-reassignment.ts';
import { findLine, findLineWithUsage, listLines, updateLine } from '#db/queries/lines/lines.ts';
import { endContactGaps } from '#db/queries/sending/queue-changes.ts';
import { wake } from '#db/wakes/wakes.ts';
import { Id } from '#domain/base/ids.ts';
import { Line, LinePatch } from '#domain/lines/line.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { ApiError } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { Search } from '#domain/base/search.ts';

export const lineNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Line not found');

export const lineRoutes = [
  workspaceRoute({
    id: 'listLines',
    method: 'GET',
    path: '/api/lines/by-user',
    tag: 'Lines',
    summary: "List lines with today's usage",
    query: z.object({
      search: Search.meta({
        description: 'Matches any part of the name, number or address, without regard to case and accents.',
      }),
    }),
    responses: { 200: z.object({ lines: z.array(Line) }) },
    async handler({ db, caller, query: { search }, carriers, now }) {
      const { timezone } = caller.workspace;
      const lines = await listLines(db, timezone, carriers.capabilitiesOf, now, search);
      return { status: 200, body: { lines } };
    },
  }),

  workspaceRoute({
    id: 'getLine',
    method: 'GET',
    path: '/api/lines/{id}',
    tag: 'Lines',
    summary: "Get a line with today's usage",
    params: z.object({ id: Id }),
    responses: { 200: z.object({ success: z.literal(true), line: Line }) },
    errors: ['NOT_FOUND'],
    async handler({ db, caller, params, carriers, now }) {
      const line = await findLineWithUsage(
        db,
        params.id,
        caller.workspace.timezone,
        carriers.capabilitiesOf,
        now,
      );
      if (!line) throw lineNotFound();
      return { status: 200, body: { success: true, line } };
    },
  }),

  workspaceRoute({
    id: 'updateLine',
    method: 'PATCH',
    path: '/api/lines/{id}',
    tag: 'Lines',
    summary: "Update a line's name, limits, gaps or status",
    params: z.object({ id: Id }),
    body: LinePatch,
    responses: { 200: z.object({ success: z.literal(true), line: Line }) },
    errors: ['NOT_FOUND', 'UNSUPPORTED_BY_CARRIER'],
    audit: {
      action: 'line.updated',
      target: 'line',
      changes: [
        'isActive',
        'dailyTotalMessagesLimit',
        'dailyNewConversationsLimit',
        'hourlyNewConversationsLimit',
        'minGapSeconds',
        'contactGapSeconds',
        'lineDownNotifications',
        'readReceipts',
        'shareContactCard',
        'reputationPolicy',
      ],
    },
    async handler({ db, caller, params, body, carriers, now }) {
      const { readReceipts = 'off' } = body;
      const former = readReceipts === 'off' ? null : await findLine(db, params.id);
      if (former && !carriers.capabilitiesOf(former).includes('read_receipts'))
        throw new ApiError('UNSUPPORTED_BY_CARRIER', undefined, { capability: 'read_receipts' });
      const found = await updateLine(db, params.id, body);
      const line = found
        ? await findLineWithUsage(db, params.id, caller.workspace.timezone, carriers.capabilitiesOf, now)
        : null;
      if (!line) throw lineNotFound();
      if (body.contactGapSeconds !== undefined) await endContactGaps(db, params.id, now);
      // Deactivating a line reassigns its messages, except pinned ones; activating it assigns messages without a line.
      if (body.isActive !== undefined) await reassignMessagesOf(db, body.isActive ? null : params.id);
      // The pacer sleeps until a time computed from the old limits.
      wake(db, linePacerId(params.id), now, 'lineChanged');
      return { status: 200, body: { success: true, line } };
    },
  }),
];
