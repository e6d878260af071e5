import { z } from 'zod';
import {
  type Client,
  findClient,
  inWorkspace,
  listClients,
  lockAgency,
} from '#db/queries/accounts/agency.ts';
import {
  deleteLine,
  beginLineChange,
  lockChangingLine,
  moveLine,
  endLineChange,
} from '#db/commands/lines/line-moves.ts';
import { hasUnsettledInvoices } from '#db/queries/lines/line-requests.ts';
import { findLineWithUsage, type LineRow, listLinesOf } from '#db/queries/lines/lines.ts';
import { type SystemDb, systemDb, type TenantDb, withSystemShare } from '#db/connection/transactions.ts';
import { findLineOwner } from '#db/queries/accounts/workspaces.ts';
import type { AgencyCaller } from '#domain/accounts/caller.ts';
import { Id, isId, WorkspaceId } from '#domain/base/ids.ts';
import { Line } from '#domain/lines/line.ts';
import { usesOperatorAccount } from '#providers/carriers/carrier.ts';
import type { RecordAudit } from '#api/http/audit.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { agencyRoute } from '#api/http/route.ts';
import { lineNotFound } from '../lines/lines.ts';
import { refuseReadOnly } from '#api/http/read-only.ts';
import type { Services } from '#api/services.ts';

const LineAction = z
  .object({
    action: z
      .enum(['transfer', 'delete'])
      .meta({ description: '`delete` requires a session of the agency owner.' }),
    lineId: z
      .unknown()
      .optional()
      .meta({ description: 'Required: a line of the agency.', override: { type: 'string' } }),
    targetWorkspaceId: z.string().min(1).optional().meta({ description: 'Required for a transfer.' }),
  })
  .meta({ id: 'AgencyLineAction' });

const Transferred = z.object({
  success: z.literal(true),
  line: Line,
  fromWorkspaceId: WorkspaceId,
  toWorkspaceId: WorkspaceId,
});

const Deleted = z.object({ success: z.literal(true), lineId: Id, workspaceId: WorkspaceId });

export const agencyLineRoutes = [
  agencyRoute({
    id: 'listAgencyLines',
    method: 'GET',
    path: '/api/agency/lines',
    tag: 'Agency',
    summary: "List the lines of the agency's workspaces with today's usage",
    responses: { 200: z.object({ success: z.literal(true), lines: z.array(Line) }) },
    async handler({ db, caller, carriers, now }) {
      const clients = await listClients(db, caller.agency.id);
      const lines = await listLinesOf(db, clients, carriers.capabilitiesOf, now);
      return { status: 200, body: { success: true, lines } };
    },
  }),

  agencyRoute({
    id: 'changeAgencyLine',
    method: 'POST',
    path: '/api/agency/lines',
    tag: 'Agency',
    transaction: false,
    summary: "Transfer a line between the agency's workspaces, or delete it",
    description:
      "The line keeps today's usage and its contacts. Its unsent messages stay in their workspace and are sent through another line. The carrier settings that its workspace entered are deleted: messages wait (`line_not_connected`) until the target workspace connects the line. Lines that were provisioned keep sending. `delete` is not allowed with an API key.",
    body: LineAction,
    responses: { 200: z.union([Transferred, Deleted]) },
    errors: [
      'AGENCY_DELETE_SESSION_ONLY',
      'AGENCY_OWNER_REQUIRED',
      'NOT_FOUND',
      'WORKSPACE_NOT_FOUND',
      'CONFLICT',
      'READ_ONLY',
    ],
    audit: { action: 'line.transferred', target: 'line', targets: 'handler' },
    async handler({ caller, body, now, audit, ...services }) {
      if (body.action === 'delete') {
        refuseDelete(caller);
        return { status: 200, body: await remove(caller, requireLineId(body.lineId), audit, services) };
      }
      const { targetWorkspaceId } = body;
      if (targetWorkspaceId === undefined) throw invalid('targetWorkspaceId', 'is required for a transfer');
      const target = await findClient(systemDb(services.pools), caller.agency.id, targetWorkspaceId);
      if (!target) throw new ApiError('WORKSPACE_NOT_FOUND');
      return {
        status: 200,
        body: await transfer(caller, requireLineId(body.lineId), target, { now, audit }, services),
      };
    },
  }),
];

async function remove(caller: AgencyCaller, lineId: string, audit: RecordAudit, { pools }: Services) {
  const owner = await ownerOf(systemDb(pools), caller, lineId);
  return atRest(pools, owner, lineId, () =>
    withSystemShare(pools, caller.agency.id, async (db) => {
      await lockAgency(db, caller.agency.id);
      const current = await ownerOf(db, caller, lineId);
      refuseReadOnly([current]);
      const workspaceId = current.id;
      const workspace = inWorkspace(db, current);
      await lockLine(workspace, lineId);
      // Nobody would void or credit them any more.
      if (await hasUnsettledInvoices(workspace, lineId))
        throw new ApiError(
          'CONFLICT',
          'The line has an invoice that is not settled: cancel its request if it awaits payment, and try again in a moment',
        );
      await deleteLine(workspace, lineId);
      await audit(db, [{ id: lineId, workspaceId, action: 'line.deleted', changes: {} }]);
      return { success: true, lineId, workspaceId } as const;
    }),
  );
}

async function transfer(
  caller: AgencyCaller,
  lineId: string,
  target: Client,
  { now, audit }: { now: Date; audit: RecordAudit },
  services: Services,
) {
  const { pools, carriers } = services;
  const move = () =>
    withSystemShare(pools, caller.agency.id, async (db) => {
      await lockAgency(db, caller.agency.id);
      // The line may have been moved concurrently; if it is already in the target, nothing changes.
      const owner = await ownerOf(db, caller, lineId);
      const to = inWorkspace(db, target);
      if (owner.id !== target.id) {
        refuseReadOnly([owner, target]);
        const from = inWorkspace(db, owner);
        const line = await lockLine(from, lineId);
        if (line.provisioningStatus !== 'active')
          throw new ApiError('CONFLICT', 'Only a line that is set up can be moved');
        const keepsCarrier = isProvisioned(line, services);
        await moveLine(db, { line, from, to, keepsCarrier });
        // Neither log names the other workspace.
        const changes = { provider: line.carrier, isConnected: keepsCarrier };
        await audit(db, [
          { id: lineId, workspaceId: owner.id, changes: { direction: 'out', ...changes } },
          { id: lineId, workspaceId: target.id, changes: { direction: 'in', ...changes } },
        ]);
      }
      const moved = await findLineWithUsage(to, lineId, target.timezone, carriers.capabilitiesOf, now);
      if (!moved) throw lineNotFound();
      return {
        success: true,
        line: moved,
        fromWorkspaceId: owner.id,
        toWorkspaceId: target.id,
      } as const;
    });
  const owner = await ownerOf(systemDb(pools), caller, lineId);
  return owner.id === target.id ? move() : atRest(pools, owner, lineId, move);
}

/** Validated by the handler and not by the schema, because a caller without permission gets 403 first. */
function requireLineId(lineId: unknown): string {
  if (typeof lineId === 'string' && isId(lineId)) return lineId;
  throw invalid('lineId', lineId === undefined ? 'is required' : 'must be the id of a line');
}

/** Only the signed-in owner of the agency may delete lines. */
function refuseDelete({ via, role }: AgencyCaller): void {
  if (via === 'key') throw new ApiError('AGENCY_DELETE_SESSION_ONLY');
  if (role !== 'owner') throw new ApiError('AGENCY_OWNER_REQUIRED');
}

/** The agency's workspace that owns the line. */
async function ownerOf(db: SystemDb, caller: AgencyCaller, lineId: string): Promise<Client> {
  const at = await findLineOwner(db, lineId);
  const owner = at && (await findClient(db, caller.agency.id, at.workspaceId));
  if (!owner) throw lineNotFound();
  return owner;
}

/** Runs work while the line sends nothing. No transaction is open while it waits for sends to end. */
async function atRest<T>(
  pools: Services['pools'],
  owner: Client,
  lineId: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    await beginLineChange(pools, owner.id, lineId);
    return await work();
  } finally {
    await endLineChange(pools, owner.id, lineId);
  }
}

async function lockLine(db: TenantDb, lineId: string): Promise<LineRow> {
  const line = await lockChangingLine(db, lineId);
  if (!line) throw lineNotFound();
  if (line === 'sending')
    throw new ApiError('CONFLICT', 'The line is sending a message; try again in a moment');
  return line;
}

const isProvisioned = ({ carrier }: LineRow, { carriers }: Services): boolean =>
  carriers.names.includes(carrier) && usesOperatorAccount(carriers.get(carrier));
