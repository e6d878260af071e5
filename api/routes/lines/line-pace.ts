import { z } from 'zod';
import { lineHistory } from '#db/queries/sending/call-history.ts';
import { findLine, pacedLine } from '#db/queries/lines/lines.ts';
import { findMessages } from '#db/queries/messages/messages.ts';
import { countQueued, firstOfLanes } from '#db/queries/sending/queue.ts';
import { findWaits, showWait } from '#db/queries/messages/shown-messages.ts';
import { findTimeline } from '#db/queries/messages/timeline.ts';
import { workspacePace } from '#db/queries/accounts/workspaces.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { dayBounds, hourBounds } from '#domain/base/calendar.ts';
import { Id } from '#domain/base/ids.ts';
import { capsOf, LinePace, MAX_WAITING } from '#domain/sending/line-pace.ts';
import { waitingFor } from '#domain/sending/waiting.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { lineNotFound } from './lines.ts';

export const linePaceRoutes = [
  workspaceRoute({
    id: 'getLinePace',
    method: 'GET',
    path: '/api/lines/{id}/pace',
    tag: 'Lines',
    summary: 'Get how much of its caps a line has used, what it sends next, and why not now',
    params: z.object({ id: Id }),
    responses: { 200: z.object({ success: z.literal(true), pace: LinePace }) },
    errors: ['NOT_FOUND'],
    async handler({ db, caller, params, now }) {
      const line = await findLine(db, params.id);
      if (!line) throw lineNotFound();
      const { timezone } = caller.workspace;
      const since = { day: dayBounds(timezone, now).start, hour: hourBounds(timezone, now).start };
      const paced = pacedLine(line, await workspacePace(db), now);
      const caps = capsOf(paced, await lineHistory(db, line.id, since), now);
      const waiting = await countQueued(db, line.id, MAX_WAITING);
      const next = waiting === 0 ? null : await nextMessage(db, line.id, now);
      return { status: 200, body: { success: true, pace: { ...caps, waiting, next } } };
    },
  }),
];

/** The message that is sent first, according to the current caps and windows. */
async function nextMessage(db: TenantDb, lineId: string, now: Date): Promise<LinePace['next']> {
  const heads = await findWaits(db, await findMessages(db, await firstOfLanes(db, lineId)), now);
  const [first] = heads
    .map((head) => showWait(head, now).row)
    .toSorted((a, b) => a.scheduledAt.getTime() - b.scheduledAt.getTime());
  const told = first && (await findTimeline(db, first.id, now));
  if (!told) return null;
  return {
    messageId: first.id,
    recipient: first.address,
    scheduledDate: first.scheduledAt.toISOString(),
    waitingFor: told.found.facts && waitingFor(told.found.facts, told.said, now),
  };
}
