import { z } from 'zod';
import { type Client, findClient, inWorkspace, listClients } from '#db/queries/agency.ts';
import { deleteLine, holdLine, moveLine, type Wake } from '#db/commands/lines/line-moves.ts';
import { findLineWithUsage, type LineRow, listLines } from '#db/queries/lines.ts';
import type { SystemDb } from '#db/pool.ts';
import { lineHome } from '#db/queries/workspaces.ts';
import type { AgencyCaller } from '#domain/caller.ts';
import { Id, isId, WorkspaceId } from '#domain/ids.ts';
import { Line } from '#domain/line.ts';
import { secretContext } from '#providers/secret-box.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { sealConfig } from '#providers/carriers/secret-config.ts';
import { ApiError, invalid } from '../http/errors.ts';
import { agencyRoute } from '../http/route.ts';
import type { Services } from '../services.ts';

export const readAgencyLines = agencyRoute({
  id: 'listAgencyLines',
  method: 'GET',
  path: '/api/agency/lines',
  tag: 'Agency',
  summary: "Every line of the agency's workspaces, with today's usage",
  responses: { 200: z.object({ success: z.literal(true), lines: z.array(Line) }) },
  async handler({ db, caller, now }) {
    const lines: Line[] = [];
    for (const client of await listClients(db, caller.agency.id)) {
      lines.push(...(await listLines(inWorkspace(db, client), client.timezone, now)));
    }
    return { status: 200, body: { success: true, lines } };
  },
});

const LineAction = z
  .object({
    action: z
      .enum(['transfer', 'delete'])
      .meta({ description: '`delete` needs the session of the agency owner.' }),
    lineId: z
      .unknown()
      .optional()
      .meta({ description: 'Required: a line of the agency.', override: { type: 'string' } }),
    targetWorkspaceId: z.string().optional().meta({ description: 'Of a transfer.' }),
  })
  .meta({ id: 'AgencyLineAction' });

const Transferred = z.object({
  success: z.literal(true),
  line: Line,
  fromWorkspaceId: WorkspaceId,
  toWorkspaceId: WorkspaceId,
});
const Deleted = z.object({ success: z.literal(true), lineId: Id, workspaceId: WorkspaceId });

export const changeAgencyLine = agencyRoute({
  id: 'changeAgencyLine',
  method: 'POST',
  path: '/api/agency/lines',
  tag: 'Agency',
  summary: "Move a line between the agency's workspaces",
  description:
    'The line keeps what it has used of today, and its contacts. Messages that it has not sent stay behind and leave through another line of their workspace. One more transfer brings it back. `delete` is refused with an API key.',
  body: LineAction,
  responses: { 200: z.union([Transferred, Deleted]) },
  errors: [
    'AGENCY_DELETE_SESSION_ONLY',
    'AGENCY_OWNER_REQUIRED',
    'NOT_FOUND',
    'WORKSPACE_NOT_FOUND',
    'CONFLICT',
  ],
  async handler({ db, caller, body, now, carriers, secrets, waker, afterCommit }) {
    const wakeAll = (wakes: readonly Wake[]): void => {
      afterCommit(() => wakes.forEach(({ workflowId, workspaceId }) => waker.wake(workflowId, workspaceId)));
    };
    if (body.action === 'delete') {
      refuseDelete(caller);
      const { line, home } = await hold(db, caller, named(body.lineId));
      wakeAll(await deleteLine(inWorkspace(db, home), line.id));
      return { status: 200, body: { success: true, lineId: line.id, workspaceId: home.id } };
    }
    if (body.targetWorkspaceId === undefined)
      throw invalid('targetWorkspaceId', 'is required for a transfer');
    const target = await findClient(db, caller.agency.id, body.targetWorkspaceId);
    if (!target) throw new ApiError('WORKSPACE_NOT_FOUND');
    const { line, home } = await hold(db, caller, named(body.lineId));
    const to = inWorkspace(db, target);
    if (home.id !== target.id) {
      if (line.provisioningStatus !== 'active')
        throw new ApiError('CONFLICT', 'Only a line that is set up can be moved');
      const carrierConfig = sealAnew(line, target.id, { carriers, secrets });
      wakeAll(await moveLine(db, { line, from: inWorkspace(db, home), to, carrierConfig }));
    }
    const moved = await findLineWithUsage(to, line.id, target.timezone, now);
    if (!moved) throw new ApiError('NOT_FOUND', 'Line not found');
    return {
      status: 200,
      body: { success: true, line: moved, fromWorkspaceId: home.id, toWorkspaceId: target.id },
    };
  },
});

/** Asked for only of those who may act: a refusal of the credential goes before one of the fields. */
function named(lineId: unknown): string {
  if (typeof lineId === 'string' && isId(lineId)) return lineId;
  throw invalid('lineId', lineId === undefined ? 'is required' : 'must be the id of a line');
}

/** Specification §4.2 rule 2. */
function refuseDelete({ via, role }: AgencyCaller): void {
  if (via === 'key') throw new ApiError('AGENCY_DELETE_SESSION_ONLY');
  if (role !== 'owner') throw new ApiError('AGENCY_OWNER_REQUIRED');
}

/** A line of the agency at rest, and the workspace it is in: nothing of it is sent until the transaction ends. */
async function hold(
  db: SystemDb,
  caller: AgencyCaller,
  lineId: string,
): Promise<{ line: LineRow; home: Client }> {
  const at = await lineHome(db, lineId);
  const home = at && (await findClient(db, caller.agency.id, at.workspaceId));
  const line = home && (await holdLine(inWorkspace(db, home), lineId));
  if (!home || !line) throw new ApiError('NOT_FOUND', 'Line not found');
  if (line === 'sending')
    throw new ApiError('CONFLICT', 'The line is in the middle of a send; try again in a moment');
  return { line, home };
}

/** A sealed secret opens in its own workspace only. */
function sealAnew(
  line: LineRow,
  targetId: string,
  services: Pick<Services, 'carriers' | 'secrets'>,
): Record<string, unknown> {
  const { carrier, config } = lineCarrier(services, line);
  return sealConfig(carrier.config, config as Record<string, unknown>, (plain) =>
    services.secrets.seal(plain, secretContext('line', targetId, line.id)),
  );
}
