import { z } from 'zod';
import { agencyOfUser } from '#db/queries/credentials.ts';
import { usableLines } from '#db/queries/lines.ts';
import { setReputationPolicy, workspaceProfile, workspaceReputationPolicy } from '#db/queries/workspaces.ts';
import { type TenantDb, withAuth, withTenant } from '#db/transactions.ts';
import { wake } from '#db/wakes.ts';
import { WorkspaceId } from '#domain/ids.ts';
import { ReputationPolicy } from '#domain/reputation.ts';
import { linePacerId } from '#workflows/messages/wake.ts';
import { workspaceRoute } from '../http/route.ts';

const CallerRecord = z
  .object({
    type: z.enum(['key', 'user']),
    id: z.string().nullable(),
    name: z.string().nullable(),
    role: z.string().nullable().meta({ description: 'The role in the session; null for a key.' }),
  })
  .meta({ id: 'Caller' });

const WorkspaceRecord = z
  .object({
    _id: WorkspaceId,
    name: z.string(),
    timezone: z.string(),
    country: z.string(),
    subscriptionStatus: z.enum(['none', 'active', 'past_due', 'canceled']),
    reputationPolicy: ReputationPolicy.meta({ description: 'Of lines without a policy of their own.' }),
  })
  .meta({ id: 'Workspace' });

export const workspaceRoutes = [
  workspaceRoute({
    id: 'getWorkspace',
    method: 'GET',
    path: '/api/workspace',
    tag: 'Workspace',
    transaction: false,
    summary: 'Get the workspace of the credential, and who is calling',
    responses: {
      200: z.object({
        success: z.literal(true),
        workspace: WorkspaceRecord,
        caller: CallerRecord,
        agency: z
          .object({ _id: z.string(), role: z.enum(['owner', 'co_admin']) })
          .nullable()
          .meta({ description: 'The agency of the signed-in user; null for a key.' }),
      }),
    },
    async handler({ caller, pools }) {
      const { id, country, subscriptionStatus } = caller.workspace;
      const { userId, via, role } = caller;
      const [profile, member] = await Promise.all([
        withTenant(pools, id, profileOf),
        via === 'session' && userId !== null
          ? withAuth(pools, userId, `agency of ${userId}`, (db) => agencyOfUser(db, userId, null))
          : null,
      ]);
      const { type, id: callerId, name } = caller.actor;
      if (type !== 'key' && type !== 'user') throw new Error(`a request by ${type}`);
      const agency = member?.agency.isActive
        ? { _id: member.agency.id, role: member.role ?? 'co_admin' }
        : null;
      return {
        status: 200,
        body: {
          success: true,
          workspace: { _id: id, ...profile, country, subscriptionStatus },
          caller: { type, id: callerId, name, role },
          agency,
        },
      };
    },
  }),

  workspaceRoute({
    id: 'updateWorkspace',
    method: 'PATCH',
    path: '/api/workspace',
    tag: 'Workspace',
    summary: 'Update the workspace: what its lines do about their reputation',
    role: 'admin',
    body: z.object({ reputationPolicy: ReputationPolicy }).partial().meta({ id: 'WorkspacePatch' }),
    responses: { 200: z.object({ success: z.literal(true), workspace: WorkspaceRecord }) },
    audit: { action: 'workspace.updated', target: 'workspace', changes: ['reputationPolicy'] },
    async handler({ db, caller, body, now }) {
      if (body.reputationPolicy !== undefined) {
        await setReputationPolicy(db, body.reputationPolicy);
        // The pacers sleep until times computed with the old policy.
        for (const { id } of await usableLines(db)) wake(db, linePacerId(id), now, 'lineChanged');
      }
      const { id, country, subscriptionStatus } = caller.workspace;
      const workspace = { _id: id, ...(await profileOf(db)), country, subscriptionStatus };
      return { status: 200, body: { success: true, workspace } };
    },
  }),
];

async function profileOf(db: TenantDb) {
  return { ...(await workspaceProfile(db)), reputationPolicy: await workspaceReputationPolicy(db) };
}
