import { sql } from 'slonik';
import { z } from 'zod';
import { Channel } from '#domain/base/channel.ts';
import { changesOfLine, type LineChange } from '#domain/campaigns/forecast/line-changes.ts';
import { daysBefore } from '#domain/lines/line-signals.ts';
import { JUDGED_DAYS, ReputationPolicy, ReputationState } from '#domain/lines/reputation.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { findSignals } from './line-signals.ts';

const SlowedRow = z.object({
  id: z.string(),
  channel: Channel,
  state: ReputationState,
  policy: ReputationPolicy,
  overriddenUntil: z.date().nullable(),
});

/** How the reputation of lines will change their pacing, by line; without lines that it does not slow down. */
export async function changesOfLines(
  db: TenantDb,
  lineIds: readonly string[],
  now: Date,
): Promise<Map<string, LineChange[]>> {
  const slowed = await db.any(sql.type(SlowedRow)`
    select l.id, l.channel, l.reputation_state state, coalesce(l.reputation_policy, w.reputation_policy) policy,
      l.reputation_override_until overridden_until
    from lines l join workspaces w on w.id = l.workspace_id
    where l.workspace_id = ${db.workspaceId} and l.id = any(${sql.array([...lineIds], 'text')})
      and l.reputation_state in ('watch', 'at_risk', 'critical')`);
  const signals = await findSignals(
    db,
    slowed.map(({ id }) => id),
    daysBefore(now, JUDGED_DAYS - 1),
  );
  return new Map(slowed.map(({ id, ...line }) => [id, changesOfLine(line, signals.get(id) ?? [], now)]));
}
