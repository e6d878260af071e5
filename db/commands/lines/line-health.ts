import { sql } from 'slonik';
import { z } from 'zod';
import { NO_CARRIER } from '#domain/line.ts';
import { afterProbe } from '#domain/line-health.ts';
import { HealthStatus } from '#domain/line.ts';
import { linePacerId } from '#workflows/messages/wake.ts';
import { rehomeMessages } from './line-rehoming.ts';
import { NoRows } from '#db/rows.ts';
import type { SystemDb, TenantDb } from '#db/transactions.ts';
import { wake } from '#db/wakes.ts';

export interface ProbeEffect {
  status: z.infer<typeof HealthStatus>;
  wentDown: boolean;
  recovered: boolean;
  lineDownNotifications: boolean;
}

const ProbedLineRow = z.object({
  healthStatus: HealthStatus,
  failedProbes: z.int(),
  lineDownNotifications: z.boolean(),
});

/**
 * Records the result of a probe. A line that went down keeps the messages that are pinned to it; the others are
 * assigned to other lines.
 * @returns null if the line does not exist.
 */
export async function recordProbe(
  db: TenantDb,
  lineId: string,
  succeeded: boolean,
  now: Date,
): Promise<ProbeEffect | null> {
  const line = await db.maybeOne(sql.type(ProbedLineRow)`
    select health_status, failed_probes, line_down_notifications from lines
    where workspace_id = ${db.workspaceId} and id = ${lineId} for no key update`);
  if (!line) return null;
  const { status, failedProbes, wentDown, recovered } = afterProbe(
    { status: line.healthStatus, failedProbes: line.failedProbes },
    succeeded,
  );
  await db.query(sql.type(NoRows)`
    update lines set health_status = ${status}, failed_probes = ${failedProbes}, health_checked_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and id = ${lineId}`);
  if (wentDown) await rehomeMessages(db, lineId);
  if (wentDown || recovered) wake(db, linePacerId(lineId), now, 'lineChanged');
  return { status, wentDown, recovered, lineDownNotifications: line.lineDownNotifications };
}

/** Records that lines are healthy. Those that are down meanwhile are left alone, because their recovery has effects. */
export async function recordHealthy(db: TenantDb, lineIds: readonly string[], now: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    with locked as materialized (
      select id from lines
      where workspace_id = ${db.workspaceId} and id = any(${sql.array([...lineIds], 'text')}) and health_status <> 'down'
      order by id for no key update
    )
    update lines l set health_status = 'healthy', failed_probes = 0, health_checked_at = ${sql.timestamp(now)}
    from locked where l.workspace_id = ${db.workspaceId} and l.id = locked.id`);
}

const toProbe = (seconds: number) => sql.fragment`
  is_active and provisioning_status = 'active' and carrier <> ${NO_CARRIER}
  and (health_checked_at is null or health_checked_at < now() - make_interval(secs => ${seconds}))`;

const CarrierRow = z.object({ carrier: z.string() });

/** The carriers of active lines that were not probed within `seconds`. */
export async function carriersToProbe(db: SystemDb, seconds: number): Promise<string[]> {
  const carriers = await db.anyFirst(sql.type(CarrierRow)`
    select distinct carrier from lines where ${toProbe(seconds)} order by carrier`);
  return [...carriers];
}

const LineOfWorkspaceRow = z.object({ workspaceId: z.string(), id: z.string() });

/**
 * Active lines of a carrier that were not probed within `seconds`: first the longest unprobed line of each workspace,
 * then the next of each, so that no workspace waits for all lines of another.
 * @param carrier undefined: lines of all carriers.
 */
export async function linesToProbe(
  db: SystemDb,
  { carrier, seconds, limit }: { carrier: string | undefined; seconds: number; limit: number },
): Promise<{ workspaceId: string; id: string }[]> {
  const rows = await db.any(sql.type(LineOfWorkspaceRow)`
    select workspace_id, id from lines
    where ${toProbe(seconds)} ${carrier === undefined ? sql.fragment`` : sql.fragment`and carrier = ${carrier}`}
    order by row_number() over (partition by workspace_id order by health_checked_at nulls first),
      health_checked_at nulls first
    limit ${limit}`);
  return [...rows];
}
