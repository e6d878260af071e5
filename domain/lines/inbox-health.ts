import type { z } from 'zod';
import type { HealthStatus } from './line.ts';

/** A mailbox that cannot be read, or a carrier that reports no replies, for this long makes the line unhealthy: opt-outs may be lost. */
const UNREADABLE_MS = 10 * 60_000;

export const isInboxUnhealthy = (failingSince: Date | null, now: Date): boolean =>
  failingSince !== null && now.getTime() - failingSince.getTime() >= UNREADABLE_MS;

/** The health of a line that sends, but whose replies may not arrive. */
export const withInbox = (
  status: z.infer<typeof HealthStatus>,
  failingSince: Date | null,
  now: Date,
): z.infer<typeof HealthStatus> =>
  status === 'healthy' && isInboxUnhealthy(failingSince, now) ? 'degraded' : status;

/** For so long an inbox fails before operators are told: one look that fails is often over with the next. */
export const TOLD_AFTER_MS = 6000;

/** How many pauses a failing inbox may skip. */
const MAX_SKIPPED = 5;

/** After the first failure, before operators are told: whether it was only a moment is soon known. */
const FIRST_PAUSE_MS = 5000;

/** How long after a failure an inbox is read again: less often the longer it fails, so that those that hang are in nobody's way. */
export const pauseAfterFailure = (pollMs: number, failingMs: number): number =>
  failingMs <= 0
    ? Math.min(pollMs, FIRST_PAUSE_MS)
    : Math.max(pollMs, Math.min(MAX_SKIPPED * pollMs, failingMs / 4));
