import { z } from 'zod';
import { Id, WorkspaceId } from '../base/ids.ts';
import type { LineStop } from './line-stop.ts';
import { LINE_STOPS } from './line-stop.ts';
import { oneLine } from '../base/text.ts';

const POOL_STRATEGIES = ['round_robin', 'least_used', 'local'] as const;
export const POOL_FAILOVERS = ['never', 'new_conversations', 'always'] as const;
export type PoolFailover = (typeof POOL_FAILOVERS)[number];

const MAX_POOL_LINES = 500;

export const PoolLine = z
  .object({ lineId: Id, weight: z.int().min(1).max(100).default(1) })
  .meta({ id: 'PoolLine' });
export type PoolLine = z.output<typeof PoolLine>;

const fields = {
  name: z.string().trim().min(1, 'must not be empty').max(200).overwrite(oneLine),
  lines: z
    .array(PoolLine)
    .min(1, 'at least one line is required')
    .max(MAX_POOL_LINES)
    .superRefine((lines, context) => {
      const seen = new Set<string>();
      for (const [index, { lineId }] of lines.entries()) {
        if (seen.has(lineId))
          context.addIssue({ code: 'custom', path: [index, 'lineId'], message: 'is in the pool twice' });
        seen.add(lineId);
      }
    }),
  strategy: z.enum(POOL_STRATEGIES).meta({
    description:
      '`round_robin`: in turn, by weight. `least_used`: the line with the fewest messages sent today and waiting, divided by its weight. `local`: the lines of the same area code, else state or province, else country, in turn.',
  }),
  sticky: z.boolean().meta({ description: 'Whether a contact keeps the line that first wrote to it.' }),
  failover: z.enum(POOL_FAILOVERS).meta({
    description:
      'Which waiting messages of a line that cannot send move to other lines: `new_conversations`: those that would start a conversation; `always`: all.',
  }),
  failoverAfterMinutes: z
    .int()
    .min(0)
    .max(10_080)
    .meta({ description: 'How long a line must be unable to send before its messages move.' }),
};

/** The body of `POST /api/pools`. */
export const PoolInput = z
  .object({
    ...fields,
    strategy: fields.strategy.default('round_robin'),
    sticky: fields.sticky.default(true),
    failover: fields.failover.default('new_conversations'),
    failoverAfterMinutes: fields.failoverAfterMinutes.default(15),
  })
  .meta({ id: 'PoolInput' });
export type PoolInput = z.output<typeof PoolInput>;

/** The body of `PATCH /api/pools/{id}`. `lines` replaces all lines. */
export const PoolPatch = z.object(fields).partial().meta({ id: 'PoolPatch' });
export type PoolPatch = z.output<typeof PoolPatch>;

/** A pool as the API returns it. */
export const Pool = z
  .object({
    _id: Id,
    workspaceId: WorkspaceId,
    name: z.string(),
    lines: z.array(z.object({ lineId: Id, weight: z.int() })),
    strategy: fields.strategy,
    sticky: z.boolean(),
    failover: fields.failover,
    failoverAfterMinutes: z.int(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Pool' });
export type Pool = z.infer<typeof Pool>;

/** Which messages of a stopped line another line of the pool takes over. */
export type MovesFrom = 'none' | 'new_conversations' | 'all';

/** @param reason why the line has stopped. */
export function movesFrom(failover: PoolFailover, reason: LineStop): MovesFrom {
  if (failover === 'never') return 'none';
  return failover === 'always' ? LINE_STOPS[reason].holds : 'new_conversations';
}

/** When a pool moves the messages of a line that has been stopped since `stoppedAt`. */
export const failsOverAt = (
  { failoverAfterMinutes }: Pick<Pool, 'failoverAfterMinutes'>,
  stoppedAt: Date,
): Date => new Date(stoppedAt.getTime() + failoverAfterMinutes * 60_000);
