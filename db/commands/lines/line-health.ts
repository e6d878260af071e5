import { sql } from 'slonik';
import { z } from 'zod';
import { afterProbe } from '#domain/lines/line-health.ts';
import { HealthStatus } from '#domain/lines/line.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { emitLineDown, emitLineUp } from './line-events.ts';
import { reassignMessagesOf } from './line-reassignment.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';

export interface ProbeEffect {
  status: z.infer<typeof HealthStatus>;
  wentDown: boolean;
  recovered: boolean;
  /** The line was already known to send nothing, because its carrier takes nothing. */
  wasBlocked: boolean;
  lineDownNotifications: boolean;
}

const ProbedLineRow = z.object({
  healthStatus: HealthStatus,
  failedProbes: z.int(),
  blockedAt: z.date().nullable(),
  lineDownNotifications: z.boolean(),
});

/**
 * Records the result of a probe. A line that went down keeps the messages that are pinned to it; the others are
 * assigned to other lines.
 * @param failure why the probe failed.
 * @returns null if the line does not exist.
 */
export async function recordProbe(
  db: TenantDb,
  lineId: string,
  succeeded: boolean,
  now: Date,
  failure: string | null = null,
): Promise<ProbeEffect | null> {
  const line = await db.maybeOne(sql.type(ProbedLineRow)`
    select health_status, failed_probes, blocked_at, line_down_notifications from lines
    where workspace_id = ${db.workspaceId} and id = ${lineId} for no key update`);
  if (!line) return null;
  const { status, failedProbes, wentDown, recovered } = afterProbe(
    { status: line.healthStatus, failedProbes: line.failedProbes },
    succeeded,
  );
  await db.query(sql.type(NoRows)`
    update lines set health_status = ${status}, failed_probes = ${failedProbes}, health_checked_at = ${sql.timestamp(now)},
      health_reason = ${failure}
    where workspace_id = ${db.workspaceId} and id = ${lineId}`);
  const wasBlocked = line.blockedAt !== null;
  if (wentDown) await reassignMessagesOf(db, lineId);
  if (wentDown && !wasBlocked) await emitLineDown(db, lineId, { reason: 'line_down', error: failure }, now);
  if (recovered && !wasBlocked) await emitLineUp(db, lineId, now);
  if (wentDown || recovered) wake(db, linePacerId(lineId), now, 'lineChanged');
  return { status, wentDown, recovered, wasBlocked, lineDownNotifications: line.lineDownNotifications };
}
