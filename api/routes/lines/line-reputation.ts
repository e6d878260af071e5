import { z } from 'zod';
import { judgeLines, setOverride } from '#db/commands/lines/line-reputation.ts';
import { findSignals } from '#db/queries/lines/line-signals.ts';
import { findLine, lineEffects, lockLine } from '#db/queries/lines/lines.ts';
import { workspaceReputationPolicy } from '#db/queries/accounts/workspaces.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { Id } from '#domain/base/ids.ts';
import { daysBefore } from '#domain/lines/line-signals.ts';
import {
  HISTORY_DAYS,
  historyOf,
  judge,
  JUDGED_DAYS,
  OverrideInput,
  Reputation,
} from '#domain/lines/reputation.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { lineNotFound } from './lines.ts';

const params = z.object({ id: Id });
const HOUR_MS = 3_600_000;

export const lineReputationRoutes = [
  workspaceRoute({
    id: 'getLineReputation',
    method: 'GET',
    path: '/api/lines/{id}/reputation',
    tag: 'Lines',
    summary: 'Get the reputation of a line, its effect on pacing, and why',
    params,
    responses: { 200: Reputation },
    errors: ['NOT_FOUND'],
    async handler({ db, params, secrets, now }) {
      const { reputation, isStored } = await reputationOf(db, params.id, now);
      // So that lists, pacing and events agree with this response. A line that is being planned is skipped: its plan scores it.
      if (!isStored) await judgeLines(db, [params.id], mailSeal(secrets, db.workspaceId), now);
      return { status: 200, body: reputation };
    },
  }),

  workspaceRoute({
    id: 'overrideLineReputation',
    method: 'POST',
    path: '/api/lines/{id}/reputation/override',
    tag: 'Lines',
    summary: "Lift the effects of a line's reputation for some hours",
    params,
    body: OverrideInput,
    role: 'admin',
    responses: { 200: z.object({ success: z.literal(true), reputation: Reputation }) },
    errors: ['NOT_FOUND'],
    audit: { action: 'line.reputation_overridden', target: 'line', changes: ['hours', 'reason'] },
    async handler({ db, params, body: { hours, reason }, now }) {
      const override = { until: new Date(now.getTime() + hours * HOUR_MS), reason };
      if (!(await setOverride(db, params.id, override))) throw lineNotFound();
      // The pacer sleeps until the line has recovered.
      wake(db, linePacerId(params.id), now, 'lineChanged');
      return {
        status: 200,
        body: { success: true, reputation: (await reputationOf(db, params.id, now)).reputation },
      };
    },
  }),

  workspaceRoute({
    id: 'endLineReputationOverride',
    method: 'DELETE',
    path: '/api/lines/{id}/reputation/override',
    tag: 'Lines',
    summary: "End the override of a line's reputation",
    params,
    role: 'admin',
    responses: { 200: z.object({ success: z.literal(true), reputation: Reputation }) },
    errors: ['NOT_FOUND'],
    audit: { action: 'line.reputation_overridden', target: 'line', targets: 'handler' },
    async handler({ db, params: { id }, now, audit }) {
      const until = (await lockLine(db, id))?.reputationOverrideUntil;
      if (until && until > now) {
        await setOverride(db, id, null);
        // Not an action of its own: processes of 1.0 cannot read a log with an action that they do not know.
        await audit(db, [{ id, changes: { override: null } }]);
        wake(db, linePacerId(id), now, 'lineChanged');
      }
      return {
        status: 200,
        body: { success: true, reputation: (await reputationOf(db, id, now)).reputation },
      };
    },
  }),
];

/**
 * The reputation as of now.
 * @returns `isStored`: whether the line's row has this state and score.
 */
async function reputationOf(
  db: TenantDb,
  lineId: string,
  now: Date,
): Promise<{ reputation: Reputation; isStored: boolean }> {
  const line = await findLine(db, lineId);
  if (!line) throw lineNotFound();
  const ofWorkspace = await workspaceReputationPolicy(db);
  const firstDay = daysBefore(now, JUDGED_DAYS + HISTORY_DAYS);
  const signals = (await findSignals(db, [lineId], firstDay)).get(lineId) ?? [];
  const { reputationOverrideUntil: until, reputationOverrideReason: reason } = line;
  const { state, score, terms } = judge(line.channel, signals, now);
  const isStored = state === line.reputationState && score === line.reputationScore;
  const since = (state === line.reputationState && line.reputationSince) || (isStored ? null : now);
  const reputation = {
    lineId,
    state,
    score,
    since: since?.toISOString() ?? null,
    policy: line.reputationPolicy ?? ofWorkspace,
    override: until !== null && until > now ? { until: until.toISOString(), reason: reason ?? '' } : null,
    effects: lineEffects({ ...line, reputationState: state }, ofWorkspace, now),
    terms,
    history: historyOf(line.channel, signals, now),
  };
  return { reputation, isStored };
}
