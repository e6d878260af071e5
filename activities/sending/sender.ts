import { setImmediate as nextTurn } from 'node:timers/promises';
import { currentTime } from '#domain/base/clock.ts';
import { forceFallback } from '#db/commands/sending/failures.ts';
import { decide } from '#db/wakes/decisions.ts';
import { type LineRow, otherLinesWithLoss } from '#db/queries/lines/lines.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { earliest } from '#domain/base/earliest.ts';
import { lostSendOf } from '#domain/messages/lost-records.ts';
import { TEST_CARRIER } from '#domain/test-mode/test-mode.ts';
import { fallbackText } from '#domain/messages/outgoing-text.ts';
import { fallbackConfig } from '#providers/carriers/fallback-account.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import {
  type CarrierAccount,
  createCarrierCalls,
  type PossibleDuplicate,
  lineAccount,
} from './carrier-calls.ts';
import type { Dependencies } from '../dependencies.ts';
import type { LineAtCarrier } from '../lines/line-location.ts';
import { createActionCalls, groupAt } from './action-calls.ts';
import { createComposer, type Rendering } from './outbound-message.ts';
import { askAgainAt, createReconciliation } from './reconciliation.ts';
import { MIN_RECIPIENTS } from '#domain/inbox/group.ts';
import type { Capability } from '#domain/lines/capability.ts';
import type { CarrierGroup } from '#providers/carriers/carrier.ts';
import { type AttemptRow, openAttempts } from '#db/queries/sending/attempts.ts';
import { type StartedAttempt, claimFallback } from '#db/commands/sending/send-claim.ts';
import { planSends, type SendPlan } from '#db/commands/sending/send-plan.ts';
import { createSettle } from './settlement.ts';

/** Why nothing can be sent to a group; null: it can. */
function refusalOf({ id, participants }: CarrierGroup, capabilities: readonly Capability[]): string | null {
  if (!capabilities.includes('groups')) return 'groups_unsupported';
  return id === null && participants.length < MIN_RECIPIENTS ? 'group_unknown' : null;
}

/** The steps of a round: plan, send, and reconcile attempts that a crash or a lost response left open. */
export function createSender(dependencies: Dependencies) {
  const { pools, carriers, secrets, logger, onSent } = dependencies;
  const settle = createSettle(dependencies);
  const calls = createCarrierCalls(dependencies, settle);
  const compose = createComposer(dependencies);
  const carryOut = createActionCalls(dependencies);

  async function possibleDuplicateOf(
    row: LineRow,
    { message, attempt }: Rendering,
  ): Promise<PossibleDuplicate | null> {
    const lost = lostSendOf(row, message);
    if (!lost) return null;
    // A fallback SMS is sent through one account, whatever its line.
    const rows =
      attempt.kind === 'fallback'
        ? []
        : await withTenant(pools, row.workspaceId, (db) => otherLinesWithLoss(db, row));
    const others = rows.map((other) => ({ lineId: other.id, ...lineAccount({ carriers, secrets }, other) }));
    return { lost, others };
  }

  /** Whether an earlier message that creates the same group has no outcome yet: two would create two groups. */
  const isBeingCreated = (
    { workspaceId, lineId }: LineAtCarrier,
    { id, address }: AttemptRow,
  ): Promise<boolean> =>
    withTenant(pools, workspaceId, async (db) =>
      (await openAttempts(db, lineId)).some((other) => other.address === address && other.id < id),
    );

  /** A line whose settings cannot be decrypted claims nothing: it could call nobody. */
  function opensSettings(row: LineRow): boolean {
    try {
      lineAccount({ carriers, secrets }, row);
      return true;
    } catch (error) {
      logger.error({ lineId: row.id, error }, 'the settings of a line cannot be read');
      return false;
    }
  }

  /** @returns whether the carrier accepted it. */
  async function sendRendering(
    line: LineAtCarrier,
    row: LineRow,
    rendering: Rendering,
    accountOf: () => CarrierAccount,
  ): Promise<boolean> {
    const composed = await compose(rendering);
    if (!('outcome' in composed)) {
      const possibleDuplicate = await possibleDuplicateOf(row, rendering);
      return calls.send(line, accountOf(), rendering.attempt, composed.message, possibleDuplicate);
    }
    await settle(line, rendering.attempt, composed.outcome);
    return false;
  }

  async function sendPrimary(
    line: LineAtCarrier,
    { line: row, message, lead, attempt, mayBeSentAt }: StartedAttempt,
  ) {
    // Rendering is synchronous, so other work gets a turn between two messages of a batch.
    await nextTurn();
    const from = { address: row.phone ?? row.email ?? '', name: `${row.firstName} ${row.lastName}`.trim() };
    const group = await groupAt(pools, line.workspaceId, attempt.address);
    if (group?.id === null && (await isBeingCreated(line, attempt))) {
      await settle(line, attempt, { kind: 'not_sent', reason: 'the group is being created' });
      return false;
    }
    const refusal = group && refusalOf(group, carriers.capabilitiesOf(row));
    if (refusal) {
      await settle(line, attempt, { kind: 'unsendable', reason: refusal });
      return false;
    }
    const rendering = { attempt, message, template: message.body, lead, from, group };
    const isAccepted = await sendRendering(line, row, rendering, () =>
      lineAccount({ carriers, secrets }, row),
    );
    // The clock of test mode jumps.
    if (isAccepted && row.carrier !== TEST_CARRIER)
      onSent(row.carrier, Math.max(0, currentTime().getTime() - mayBeSentAt.getTime()) / 1000);
    return isAccepted;
  }

  /** The SMS that follows a fallback goes through the workspace's own account, not through the line. */
  async function sendFallback(line: LineAtCarrier, messageId: string): Promise<void> {
    const timeoutOf = (provider: string): number => carriers.get(provider).timeoutMs;
    const claim = await withTenant(pools, line.workspaceId, (db) =>
      claimFallback(db, line.lineId, messageId, timeoutOf, (account) => {
        fallbackConfig(carriers.get(account.provider), account, line.workspaceId, secrets);
      }),
    );
    if (!claim) return;
    const { line: row, message, account, attempt, lead } = claim;
    const template = fallbackText(message, account);
    const from = { address: account.fromNumber ?? '', name: '' };
    await sendRendering(line, row, { attempt, message, template, lead, from, group: null }, () => {
      const carrier = carriers.get(account.provider);
      const config = fallbackConfig(carrier, account, line.workspaceId, secrets);
      return { carrier, config, from: account.fromNumber };
    });
  }

  return {
    /**
     * @param staysFor whether the round itself waits until a given time.
     * @param options as in `planSends`.
     * @returns null when the line is no longer in this workspace.
     */
    plan: (
      line: LineAtCarrier,
      staysFor: (nextAt: Date | null) => boolean,
      options: { hasVoiceNotes: boolean; inTask: boolean },
    ) => {
      const { timeoutMs } = carriers.get(line.carrier);
      const seal = mailSeal(secrets, line.workspaceId);
      const look = async (db: TenantDb) => {
        const plan = await planSends(db, line.lineId, timeoutMs, currentTime, {
          ...options,
          seal,
          canCall: opensSettings,
        });
        if (!plan) return null;
        // If the round waits for the end of the gap anyway, it needs no plan that says so.
        const planned = plan.resumesAt !== null && staysFor(plan.resumesAt) ? plan.resumesAt : plan.nextAt;
        // Stored, so that somebody settles an open attempt even if this run of the workflow is lost.
        const nextAt = earliest(planned, plan.firstAnswerBy && askAgainAt(plan.firstAnswerBy));
        return { ...plan, nextAt, isAtWork: plan.blockedBy === null && staysFor(nextAt) };
      };
      return decide(pools, line.workspaceId, linePacerId(line.lineId), look, { genericPlans: true });
    },

    /**
     * Sends what was claimed, side by side; then the fallbacks that are owed, one after the other, because they share an account.
     * @param isOver whether the round's time is over. What is left is planned again: an account that does not respond would
     *   hold the round beyond the time limit of its activity.
     * @returns when to plan again at the latest; null: as planned.
     */
    async send(
      line: LineAtCarrier,
      plan: SendPlan,
      isOver: () => boolean,
    ): Promise<{ retryAt: Date | null }> {
      const accepted = await Promise.all(plan.claims.map((claim) => sendPrimary(line, claim)));
      for (const messageId of plan.smsOnly) {
        if (isOver()) return { retryAt: currentTime() };
        await withTenant(pools, line.workspaceId, (db) => forceFallback(db, messageId, currentTime()));
      }
      for (const messageId of plan.fallbacksDue) {
        if (isOver()) return { retryAt: currentTime() };
        await sendFallback(line, messageId);
      }
      if (!(await carryOut(line, plan.actions))) return { retryAt: currentTime() };
      // A message that was not sent frees its place under the caps.
      return { retryAt: accepted.includes(false) ? currentTime() : null };
    },

    reconcile: createReconciliation(dependencies, calls, settle),
  };
}
