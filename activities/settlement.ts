import { acceptLate, type AttemptRow } from '#db/queries/attempts.ts';
import { followCampaign } from '#db/commands/campaigns/campaign-steps.ts';
import {
  applyEarlyEvents,
  endsContact,
  lockCarrierMessage,
  takeDeferredEvents,
} from '#db/commands/inbound/carrier-events.ts';
import { type Settled, settleFallback, settlePrimary } from '#db/commands/sending/outcomes.ts';
import { type TenantDb, withTenant } from '#db/transactions.ts';
import type { Dependencies } from './dependencies.ts';
import type { LineAtCarrier } from './line-home.ts';

/**
 * Commits the outcome of an attempt, and what follows from it for its message and campaign.
 * @param text what was sent.
 */
export type Settle = (
  line: LineAtCarrier,
  attempt: AttemptRow,
  outcome: Settled,
  text?: string | null,
) => Promise<void>;

export function createSettle({ pools, logger }: Pick<Dependencies, 'pools' | 'logger'>): Settle {
  /** What the carrier accepts after its attempt was settled counts as accepted, and operators are told. */
  async function noteIfLate(db: TenantDb, attempt: AttemptRow, carrierMessageId: string): Promise<void> {
    const settledAs = await acceptLate(db, attempt.id, carrierMessageId);
    if (settledAs === null) return;
    const { id: attemptId, messageId, lineId } = attempt;
    logger.error(
      { workspaceId: db.workspaceId, lineId, messageId, attemptId, carrierMessageId, settledAs },
      'the carrier accepted a message after its attempt had been settled',
    );
  }

  return (line, attempt, outcome, text = null) => {
    const now = new Date();
    return withTenant(pools, line.workspaceId, async (db) => {
      if (outcome.kind === 'accepted') await noteIfLate(db, attempt, outcome.carrierMessageId);
      if (attempt.kind === 'fallback') await settleFallback(db, attempt, outcome, text, now);
      else if (outcome.kind === 'accepted') await settleAccepted(db, attempt, outcome, text, now);
      else await settlePrimary(db, attempt, outcome, { text, endsContact: false, now });
      await followCampaign(db, attempt.messageId, now);
    });
  };
}

/** The carrier may have reported what became of the message before it answered the call. */
async function settleAccepted(
  db: TenantDb,
  attempt: AttemptRow,
  outcome: Extract<Settled, { kind: 'accepted' }>,
  text: string | null,
  now: Date,
): Promise<void> {
  const { lineId, startedAt } = attempt;
  await lockCarrierMessage(db, lineId, outcome.carrierMessageId);
  const early = await takeDeferredEvents(db, lineId, outcome.carrierMessageId, startedAt);
  await settlePrimary(db, attempt, outcome, { text, endsContact: early.some(endsContact), now });
  await applyEarlyEvents(db, lineId, early, now);
}
