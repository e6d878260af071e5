import { z } from 'zod';
import { pauseOrResume } from '#db/commands/lines/line-pause.ts';
import { findLineWithUsage, lockLine } from '#db/queries/lines/lines.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { Id } from '#domain/base/ids.ts';
import { Line, LinePauseInput } from '#domain/lines/line.ts';
import type { Services } from '#api/services.ts';
import { authorOf } from '#api/http/audit.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { lineNotFound } from './lines.ts';

const params = z.object({ id: Id });
const OneLine = z.object({ success: z.literal(true), line: Line });

export const linePauseRoutes = [
  workspaceRoute({
    id: 'pauseLine',
    method: 'POST',
    path: '/api/lines/{id}/pause',
    tag: 'Lines',
    summary: 'Pause a line: it sends nothing until it is resumed, and its messages keep their places',
    description:
      'The timelines of waiting messages say who paused the line, and why. A line that is already paused does not change and keeps its first reason.',
    params,
    body: LinePauseInput,
    role: 'admin',
    responses: { 200: OneLine },
    errors: ['NOT_FOUND'],
    audit: { action: 'line.paused', target: 'line', targets: 'handler' },
    async handler({ db, caller, carriers, params: { id }, body: { reason }, now }) {
      return setPausedTo(db, caller, id, { isPaused: true, reason }, { carriers, now });
    },
  }),

  workspaceRoute({
    id: 'resumeLine',
    method: 'POST',
    path: '/api/lines/{id}/resume',
    tag: 'Lines',
    summary: 'Resume a paused line, whoever paused it, or try the carrier of a blocked one',
    params,
    role: 'admin',
    responses: { 200: OneLine },
    errors: ['NOT_FOUND'],
    audit: { action: 'line.resumed', target: 'line', targets: 'handler' },
    async handler({ db, caller, carriers, params: { id }, now }) {
      return setPausedTo(db, caller, id, { isPaused: false }, { carriers, now });
    },
  }),
];

async function setPausedTo(
  db: TenantDb,
  caller: WorkspaceCaller,
  id: string,
  { isPaused, reason = null }: { isPaused: boolean; reason?: string | null | undefined },
  { carriers, now }: Pick<Services, 'carriers'> & { now: Date },
) {
  const locked = await lockLine(db, id);
  if (locked) await pauseOrResume(db, locked, isPaused, { ...authorOf(caller), reason }, now);
  const line =
    locked && (await findLineWithUsage(db, id, caller.workspace.timezone, carriers.capabilitiesOf, now));
  if (!line) throw lineNotFound();
  return { status: 200, body: { success: true, line } } as const;
}
