import { z } from 'zod';
import { reviewFailover } from '#db/commands/lines/line-failover.ts';
import {
  campaignsOfPool,
  deletePool,
  findPool,
  insertPool,
  pageOfPools,
  presentPool,
  updatePool,
} from '#db/queries/lines/line-pools.ts';
import { lockLinesShared } from '#db/queries/lines/lines.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { Id } from '#domain/base/ids.ts';
import { Pool, PoolInput, type PoolLine, PoolPatch } from '#domain/lines/pool.ts';
import { ApiError, invalidFields } from '#api/http/errors.ts';
import { NextCursor, page, PageQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';

const PoolParams = z.object({ id: Id });

const OnePool = z.object({ success: z.literal(true), pool: Pool });

const CHANGES = ['name', 'strategy', 'sticky', 'failover', 'failoverAfterMinutes'] as const;

export const poolRoutes = [
  workspaceRoute({
    id: 'listPools',
    method: 'GET',
    path: '/api/pools',
    tag: 'Pools',
    summary: 'List pools of lines, newest first',
    query: PageQuery,
    responses: {
      200: z.object({ success: z.literal(true), pools: z.array(Pool), nextCursor: NextCursor }),
    },
    async handler({ db, query }) {
      const { items, nextCursor } = page(await pageOfPools(db, query), query.limit);
      return { status: 200, body: { success: true, pools: items.map(presentPool), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'createPool',
    method: 'POST',
    path: '/api/pools',
    tag: 'Pools',
    summary: 'Create a pool of lines',
    description:
      'Messages, drips and campaigns refer to it with `poolId`. Its strategy selects their lines, and its failover determines which messages move to other lines when a line cannot send. A line may be in several pools.',
    idempotent: true,
    adds: 'pools',
    body: PoolInput,
    responses: { 201: OnePool },
    audit: {
      action: 'pool.created',
      target: 'pool',
      targets: ({ answer }) => [{ id: answer.pool._id }],
      changes: [...CHANGES],
    },
    async handler({ db, body, now }) {
      await requireOwnLines(db, body.lines);
      return { status: 201, body: { success: true, pool: presentPool(await insertPool(db, body, now)) } };
    },
  }),

  workspaceRoute({
    id: 'getPool',
    method: 'GET',
    path: '/api/pools/{id}',
    tag: 'Pools',
    summary: 'Get a pool',
    params: PoolParams,
    responses: { 200: OnePool },
    errors: ['NOT_FOUND'],
    async handler({ db, params }) {
      const row = await findPool(db, params.id);
      if (!row) throw poolNotFound();
      return { status: 200, body: { success: true, pool: presentPool(row) } };
    },
  }),

  workspaceRoute({
    id: 'updatePool',
    method: 'PATCH',
    path: '/api/pools/{id}',
    tag: 'Pools',
    summary: 'Update a pool',
    description: '`lines` replaces all lines. Messages that wait at a line that leaves the pool stay there.',
    params: PoolParams,
    body: PoolPatch,
    responses: { 200: OnePool },
    errors: ['NOT_FOUND'],
    audit: { action: 'pool.updated', target: 'pool', changes: [...CHANGES] },
    async handler({ db, params, body, now }) {
      await requireOwnLines(db, body.lines ?? []);
      const row = await updatePool(db, params.id, body);
      if (!row) throw poolNotFound();
      await reviewFailover(db, row.id, now);
      return { status: 200, body: { success: true, pool: presentPool(row) } };
    },
  }),

  workspaceRoute({
    id: 'deletePool',
    method: 'DELETE',
    path: '/api/pools/{id}',
    tag: 'Pools',
    summary: 'Delete a pool that no draft, active or paused campaign uses',
    description:
      'While a campaign uses it, `409` with `campaigns`. Waiting messages keep their line, and are treated as messages without a pool.',
    params: PoolParams,
    responses: { 200: z.object({ success: z.literal(true) }) },
    errors: ['NOT_FOUND', 'CONFLICT'],
    audit: { action: 'pool.deleted', target: 'pool' },
    async handler({ db, params }) {
      const campaigns = await campaignsOfPool(db, params.id);
      if (campaigns.length > 0)
        throw new ApiError('CONFLICT', 'Campaigns use this pool: archive them, or change their lines', {
          campaigns: campaigns.map(({ id, name }) => ({ _id: id, name })),
        });
      if (!(await deletePool(db, params.id))) throw poolNotFound();
      return { status: 200, body: { success: true } };
    },
  }),
];

const poolNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Pool not found');

/** Locks the lines, so that none of them can leave the workspace in the meantime. @throws VALIDATION_ERROR naming the others */
async function requireOwnLines(db: TenantDb, lines: readonly PoolLine[]): Promise<void> {
  const own = await lockLinesShared(
    db,
    lines.map(({ lineId }) => lineId),
  );
  const issues = lines.flatMap(({ lineId }, index) =>
    own.has(lineId) ? [] : { path: `lines.${index}.lineId`, message: 'no such line in this workspace' },
  );
  if (issues.length > 0) throw invalidFields(issues);
}
