import { z } from 'zod';
import { countUsed } from '#db/queries/accounts/limits.ts';
import { systemDb, withTenantReads } from '#db/connection/transactions.ts';
import { WORKSPACE_LIMITS, type WorkspaceLimit } from '#domain/accounts/limits.ts';
import { workspaceRoute } from '#api/http/route.ts';
import type { Services } from '#api/services.ts';

const NAMES = Object.keys(WORKSPACE_LIMITS) as [WorkspaceLimit, ...WorkspaceLimit[]];

const UsedLimit = z
  .object({
    limit: z.enum(NAMES),
    max: z.int(),
    used: z.int(),
    text: z.string().meta({ description: 'What is counted.' }),
  })
  .meta({ id: 'UsedLimit' });

/** Streams are not in a tenant's table. Counting a million messages takes as long as other heavy reads. */
const usedOf = (pools: Services['pools'], workspaceId: string, limit: WorkspaceLimit): Promise<number> =>
  limit === 'eventStreams'
    ? countUsed(systemDb(pools), workspaceId, limit)
    : withTenantReads(pools, workspaceId, (db) => countUsed(db, workspaceId, limit));

export const limitRoutes = [
  workspaceRoute({
    id: 'listLimits',
    method: 'GET',
    path: '/api/workspace/limits',
    tag: 'Workspace',
    transaction: false,
    summary: 'List the limits of the workspace and their current usage',
    responses: { 200: z.object({ success: z.literal(true), limits: z.array(UsedLimit) }) },
    async handler({ caller, pools }) {
      const limits = await Promise.all(
        NAMES.map(async (limit) => ({
          limit,
          ...WORKSPACE_LIMITS[limit],
          used: await usedOf(pools, caller.workspace.id, limit),
        })),
      );
      return { status: 200, body: { success: true, limits } };
    },
  }),
];
