import { currentTime } from '#domain/base/clock.ts';
import { acceptLate, type AttemptOutcome, type AttemptRow } from '#db/queries/sending/attempts.ts';
import { followCampaign } from '#db/commands/campaigns/campaign-steps.ts';
import { type AcceptedSend, settleAccepted } from '#db/commands/sending/accepted-sends.ts';
import { type Settled, settleFallback, settlePrimary } from '#db/commands/sending/outcomes.ts';
import { recordCarrierGroup } from '#db/queries/inbox/groups.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { happenedIn } from '#db/connection/message-traces.ts';
import { createBatches } from '#domain/base/batches.ts';
import { forMany } from '#providers/log-context.ts';
import type { Dependencies } from '../dependencies.ts';
import type { LineAtCarrier } from '../lines/line-location.ts';

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
  function noteLate(
    workspaceId: string,
    attempt: AttemptRow,
    carrierMessageId: string,
    settledAs: AttemptOutcome,
  ): void {
    const { id: attemptId, messageId, lineId } = attempt;
    logger.error(
      { workspaceId, lineId, messageId, attemptId, carrierMessageId, settledAs },
      'the carrier accepted a message after its attempt had been settled',
    );
  }

  /**
   * Nearly all sends end here, so that those of a workspace that end at the same time share a commit. Alone, 0.66 times as many
   * messages were sent a second (docs/benchmarks.md, Second ways).
   */
  const accepted = createBatches<AcceptedSend>(
    forMany(async (workspaceId, sends) => {
      const settle = (db: TenantDb) => settleAccepted(db, sends, currentTime());
      const late = await withTenant(pools, workspaceId, settle, { genericPlans: true });
      for (const { send, settledAs } of late)
        noteLate(workspaceId, send.attempt, send.carrierMessageId, settledAs);
    }),
  );

  async function settleFallbackSms(
    db: TenantDb,
    attempt: AttemptRow,
    outcome: Settled,
    text: string | null,
    now: Date,
  ) {
    if (outcome.kind === 'accepted') {
      const { carrierMessageId } = outcome;
      const late = await acceptLate(db, [{ id: attempt.id, carrierMessageId, at: now }]);
      for (const { settledAs } of late) noteLate(db.workspaceId, attempt, carrierMessageId, settledAs);
    }
    await settleFallback(db, attempt, outcome, text, now);
  }

  return async ({ workspaceId }, attempt, outcome, text = null) => {
    const now = currentTime();
    // Before the attempt is settled, so that a crash in between loses nothing, and without the locks of the message.
    const groupId = outcome.kind === 'accepted' ? outcome.groupId : undefined;
    if (groupId !== undefined)
      await withTenant(pools, workspaceId, (db) => recordCarrierGroup(db, attempt.address, groupId));
    if (attempt.kind !== 'fallback' && outcome.kind === 'accepted') {
      const { carrierMessageId, transport = null } = outcome;
      return accepted.add(workspaceId, {
        attempt,
        carrierMessageId,
        transport,
        text,
        at: now,
        happenedIn: happenedIn(),
      });
    }
    await withTenant(pools, workspaceId, async (db) => {
      if (attempt.kind !== 'fallback' && outcome.kind !== 'accepted')
        await settlePrimary(db, attempt, outcome, now);
      else await settleFallbackSms(db, attempt, outcome, text, now);
      await followCampaign(db, attempt.messageId, now);
    });
  };
}
