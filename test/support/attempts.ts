import { planSends } from '#db/commands/sending/send-plan.ts';
import { createSettle } from '#activities/sending/settlement.ts';
import type { Settled } from '#db/commands/sending/outcomes.ts';
import type { AttemptRow } from '#db/queries/sending/attempts.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { createLogger } from '#providers/log.ts';
import type { TestApp } from './app.ts';
import type { WorkspaceWithLine } from './factories.ts';

/** For tests without a worker, which make the attempts of a line. */
export function attemptHelpers(current: () => { app: TestApp; workspace: WorkspaceWithLine }) {
  const inTenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> => {
    const { app, workspace } = current();
    return withTenant(app.pools, workspace.id, work);
  };
  const planAt = (at: Date) => inTenant((db) => planSends(db, current().workspace.lineId, 1000, () => at));

  return {
    inTenant,
    planAt,
    /** Claims the next message of the line. */
    async claim(at = new Date()): Promise<AttemptRow> {
      const attempt = (await planAt(at))?.claims[0]?.attempt;
      if (!attempt) throw new Error('nothing was claimed');
      return attempt;
    },
    /** Settles an attempt, as the round does that has called the carrier. */
    settle(attempt: AttemptRow, outcome: Settled): Promise<void> {
      const { app, workspace } = current();
      const line = { workspaceId: workspace.id, lineId: workspace.lineId, carrier: attempt.carrier };
      return createSettle({ pools: app.pools, logger: createLogger('test', 'silent') })(
        line,
        attempt,
        outcome,
      );
    },
  };
}
