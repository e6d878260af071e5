import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { readTestClock, startTestClock, type TestClock } from '#db/commands/test-mode/clock.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { MAX_ADVANCE_SECONDS } from '#domain/test-mode/test-mode.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { Instant } from '#api/http/page.ts';
import { TEST_LIMIT } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';
import type { Services } from '#api/services.ts';

const ClockResponse = z.object({
  success: z.literal(true),
  now: z.iso.datetime().meta({ description: 'The time of the workspace in test mode.' }),
  movingTo: z.iso.datetime().nullable().meta({ description: 'null: the clock is not being moved.' }),
  problem: z
    .string()
    .nullable()
    .meta({ description: 'Why the clock stopped before its target when it was last moved.' }),
});

const ClockInput = z
  .object({
    advanceSeconds: z.int().min(1).max(MAX_ADVANCE_SECONDS).optional(),
    to: Instant.optional(),
  })
  .refine(({ advanceSeconds, to }) => (advanceSeconds === undefined) !== (to === undefined), {
    path: ['advanceSeconds'],
    message: 'name exactly one of advanceSeconds and to',
  })
  .meta({ id: 'TestClockInput' });

/** How long a request waits for the clock to arrive. */
const WAIT_MS = 25_000;
const POLL_MS = 20;

export const testClockRoutes = [
  workspaceRoute({
    id: 'getTestClock',
    method: 'GET',
    path: '/api/test/clock',
    tag: 'Test mode',
    mode: 'test',
    limit: TEST_LIMIT,
    summary: 'Get the time of the workspace in test mode',
    responses: { 200: ClockResponse },
    async handler({ db }) {
      return { status: 200, body: present(await readTestClock(db)) };
    },
  }),

  workspaceRoute({
    id: 'moveTestClock',
    method: 'POST',
    path: '/api/test/clock',
    tag: 'Test mode',
    scope: 'send',
    mode: 'test',
    limit: TEST_LIMIT,
    transaction: false,
    summary: 'Advance the clock of the workspace, in test mode',
    description:
      'Everything that falls due until then happens in its order: messages leave within the limits of their lines, campaigns go on, webhooks are delivered. `200`: it has happened. `202`: it goes on; poll `GET /api/test/clock` until `movingTo` is null.',
    body: ClockInput,
    responses: { 200: ClockResponse, 202: ClockResponse },
    errors: ['CONFLICT'],
    async handler({ caller, body, now, pools }) {
      const { id } = caller.workspace;
      const target = targetOf(body, now);
      await withTenant(pools, id, async (db) => {
        if (!(await startTestClock(db, target)))
          throw new ApiError('CONFLICT', 'The clock is being moved: wait until movingTo is null');
      });
      const clock = await arrival(pools, id);
      if (clock.problem !== null) throw new ApiError('CONFLICT', clock.problem);
      return { status: clock.targetAt === null ? 200 : 202, body: present(clock) };
    },
  }),
];

function targetOf({ advanceSeconds, to }: z.output<typeof ClockInput>, now: Date): Date {
  if (!to) return new Date(now.getTime() + (advanceSeconds ?? 0) * 1000);
  if (to <= now) throw invalid('to', `must be later than ${now.toISOString()}: the clock moves forward only`);
  if (to.getTime() - now.getTime() > MAX_ADVANCE_SECONDS * 1000)
    throw invalid('to', 'must be at most 90 days ahead of the clock');
  return to;
}

/** The clock when it has arrived, or as it is after `WAIT_MS`. */
async function arrival(pools: Services['pools'], workspaceId: string): Promise<TestClock> {
  const end = performance.now() + WAIT_MS;
  for (;;) {
    const clock = await withTenant(pools, workspaceId, readTestClock);
    if (clock.targetAt === null || performance.now() > end) return clock;
    await pause(POLL_MS);
  }
}

const present = ({ now, targetAt, problem }: TestClock): z.input<typeof ClockResponse> => ({
  success: true,
  now: now.toISOString(),
  movingTo: targetAt?.toISOString() ?? null,
  problem,
});
