import { sql } from 'slonik';
import { z } from 'zod';
import { NO_CARRIER } from '#domain/lines/line.ts';
import type { ProbeAges, ProbePeriods } from '#domain/lines/line-health.ts';
import type { SystemDb } from '#db/connection/transactions.ts';
import { LineRow } from './lines.ts';

/*
 * The first two read all lines, once a minute. An index of when lines were probed would cost more than that, because each
 * probe would change it, and a fifth of the lines at least are due each time (docs/benchmarks.md).
 */

const IS_PROBED = sql.fragment`l.is_active and l.provisioning_status = 'active' and l.carrier <> ${NO_CARRIER}`;
/** The line is unhealthy, or its carrier did not accept messages recently: the circuit breaker is open. */
const IS_UNWELL = sql.fragment`(l.health_status <> 'healthy' or l.health_checked_at is null
  or l.recorded_hold is not distinct from 'carrier_pause')`;

const CarrierRow = z.object({
  carrier: z.string(),
  lines: z.int(),
  healthy: z.number().nullable(),
  unhealthy: z.number().nullable(),
});

/** The carriers with active lines, and the seconds since the probes of the longest unprobed of them. */
export async function probedCarriers(db: SystemDb): Promise<readonly (ProbeAges & { carrier: string })[]> {
  const age = sql.fragment`extract(epoch from now() - min(coalesce(l.health_checked_at, 'epoch'))`;
  return db.any(sql.type(CarrierRow)`
    select l.carrier, count(*) lines,
      ${age} filter (where not ${IS_UNWELL}))::float8 healthy, ${age} filter (where ${IS_UNWELL}))::float8 unhealthy
    from lines l where ${IS_PROBED} group by 1 order by 1`);
}

interface LineKey {
  workspaceId: string;
  id: string;
}

const QueueRow = z.object({ workspaceId: z.string(), lineIds: z.array(z.string()) });

/** The lines of a carrier that were not probed for so long, by workspace, the longest unprobed first. */
export async function linesToProbe(
  db: SystemDb,
  carrier: string,
  periods: ProbePeriods,
): Promise<Map<string, LineKey[]>> {
  const ago = (seconds: number) => sql.fragment`now() - make_interval(secs => ${seconds})`;
  const rows = await db.any(sql.type(QueueRow)`
    select l.workspace_id, array_agg(l.id::text order by l.health_checked_at nulls first) line_ids from lines l
    where ${IS_PROBED} and l.carrier = ${carrier}
      and (l.health_checked_at is null or l.health_checked_at < ${ago(periods.healthy)}
        or ${IS_UNWELL} and l.health_checked_at < ${ago(periods.unhealthy)})
    group by 1`);
  return new Map(
    rows.map(({ workspaceId, lineIds }) => [workspaceId, lineIds.map((id) => ({ workspaceId, id }))]),
  );
}

const ProbedLine = LineRow.pick({
  id: true,
  workspaceId: true,
  carrier: true,
  carrierConfig: true,
  phone: true,
  email: true,
  healthStatus: true,
  healthCheckedAt: true,
  inboxFailingSince: true,
}).extend({
  /** When a healthy line sent the last message that its carrier accepted, unless that is older than its last probe. */
  acceptedAt: z.date().nullable(),
});
export type ProbedLine = z.infer<typeof ProbedLine>;

/** The data of lines that probes need. */
export async function findProbedLines(
  db: SystemDb,
  lines: readonly LineKey[],
): Promise<readonly ProbedLine[]> {
  const keys = lines.map(({ workspaceId, id }) => [workspaceId, id]);
  return db.any(sql.type(ProbedLine)`
    select l.id, l.workspace_id, l.carrier, l.carrier_config, l.phone, l.email, l.health_status, l.health_checked_at,
      l.inbox_failing_since, case when not ${IS_UNWELL} then (
      select max(a.started_at) from attempts a
      where a.workspace_id = l.workspace_id and a.line_id = l.id and a.started_at > l.health_checked_at and a.started_at <= now()
        and a.kind = 'primary' and a.outcome in ('accepted', 'unknown') and a.outcome = 'accepted'
    ) end accepted_at
    from ${sql.unnest(keys, ['text', 'text'])} k (workspace_id, id)
    join lines l on l.workspace_id = k.workspace_id and l.id = k.id
    where ${IS_PROBED}`);
}

/** A line that can send, and the time at which this was determined. */
export interface HealthyLine extends LineKey {
  at: Date;
}

/**
 * Records that lines are healthy, except those that are down, because their recovery has effects, and those that a transaction has
 * locked: nobody waits for lines of others.
 * @returns the ids of those recorded.
 */
export async function recordHealthy(db: SystemDb, lines: readonly HealthyLine[]): Promise<Set<string>> {
  const texts = (of: (line: HealthyLine) => string) => sql.array(lines.map(of), 'text');
  const recorded = await db.anyFirst(sql.type(LineRow.pick({ id: true }))`
    select id from record_healthy(
      ${texts(({ workspaceId }) => workspaceId)}, ${texts(({ id }) => id)},
      ${texts(({ at }) => at.toISOString())}::timestamptz[]) id`);
  return new Set(recorded);
}
