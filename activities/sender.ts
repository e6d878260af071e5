import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  acceptLate,
  type AttemptRow,
  carrierIdsAt,
  insertAttempts,
  openAttempts,
} from '#db/queries/attempts.ts';
import { followCampaign } from '#db/commands/campaigns/campaign-steps.ts';
import {
  applyEarlyEvents,
  endsContact,
  lockCarrierMessage,
  takeDeferredEvents,
} from '#db/commands/inbound/carrier-events.ts';
import { isOfErased } from '#db/queries/erasures.ts';
import { findFallbackAccount } from '#db/queries/fallback-config.ts';
import { findLine, lockLine } from '#db/queries/lines.ts';
import { findMessage, type MessageRow } from '#db/queries/messages.ts';
import { forceFallback, type Settled, settleFallback, settlePrimary } from '#db/commands/sending/outcomes.ts';
import { decide } from '#db/decisions.ts';
import { type TenantDb, withTenant } from '#db/transactions.ts';
import { isOptedOut } from '#db/queries/opt-outs.ts';
import { setFallbackSms } from '#db/queries/sends.ts';
import { isPastDue } from '#db/queries/workspaces.ts';
import { newId } from '#domain/ids.ts';
import { fallbackText, type OutgoingText, outgoingText } from '#domain/outgoing-text.ts';
import { findLead, type LeadRow, presentLead } from '#db/queries/leads.ts';
import type { Carrier, OutboundMessage } from '#providers/carriers/carrier.ts';
import { fallbackConfig } from '#providers/carriers/fallback-account.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { createUnsubscribeLinks } from '#providers/unsubscribe-link.ts';
import { linePacerId } from '#workflows/messages/wake.ts';
import type { Dependencies } from './dependencies.ts';
import { type Files, outboundFiles } from './outbound-files.ts';
import { type Claim, planSends, type SendPlan } from './send-plan.ts';

interface SendingLine {
  lineId: string;
  workspaceId: string;
  carrier: string;
}

/** A call that was ended in time may have reached the carrier in that moment, and clocks differ. */
const MARGIN_MS = 1000;
/** An attempt that nobody could ask about for so long counts as unknown. */
const RECONCILE_FOR_MS = 15 * 60_000;
const RECONCILE_EVERY_MS = 10_000;

/** The steps of a round: what may be sent, sending it, and finding out what a crash or a lost answer left open. */
export function createSender({ pools, carriers, secrets, signer, logger, links, publicUrl }: Dependencies) {
  const unsubscribeLinks = createUnsubscribeLinks(publicUrl, signer);
  const tenant = <T>(line: SendingLine, work: (db: TenantDb) => Promise<T>): Promise<T> =>
    withTenant(pools, line.workspaceId, work);

  async function settle(
    line: SendingLine,
    attempt: AttemptRow,
    outcome: Settled,
    text: string | null = null,
  ): Promise<void> {
    const now = new Date();
    await tenant(line, async (db) => {
      await settleIn(db, line, attempt, outcome, text, now);
      await followCampaign(db, attempt.messageId, now);
    });
  }

  async function settleIn(
    db: TenantDb,
    line: SendingLine,
    attempt: AttemptRow,
    outcome: Settled,
    text: string | null,
    now: Date,
  ): Promise<void> {
    if (outcome.kind === 'accepted') await noteIfLate(db, attempt, outcome.carrierMessageId);
    if (attempt.kind === 'fallback') return settleFallback(db, attempt, outcome, text, now);
    if (outcome.kind !== 'accepted')
      return settlePrimary(db, attempt, outcome, { text, endsContact: false, now });
    await lockCarrierMessage(db, line.lineId, outcome.carrierMessageId);
    const early = await takeDeferredEvents(db, line.lineId, outcome.carrierMessageId, attempt.startedAt);
    await settlePrimary(db, attempt, outcome, { text, endsContact: early.some(endsContact), now });
    await applyEarlyEvents(db, line.lineId, early, now);
  }

  /** What the carrier took after all has left, whatever was found out about it before: it counts, and somebody is told. */
  async function noteIfLate(db: TenantDb, attempt: AttemptRow, carrierMessageId: string): Promise<void> {
    const settledAs = await acceptLate(db, attempt.id, carrierMessageId);
    if (settledAs === null) return;
    const { id: attemptId, messageId, lineId } = attempt;
    logger.error(
      { workspaceId: db.workspaceId, lineId, messageId, attemptId, carrierMessageId, settledAs },
      'the carrier accepted a message after its attempt had been settled',
    );
  }

  /**
   * Calls the carrier, but never past the time at which others take the call for ended. An answer that was lost is asked
   * for once at once, and otherwise left for `reconcile`.
   */
  async function attemptSend(
    line: SendingLine,
    carrier: Carrier,
    config: unknown,
    attempt: AttemptRow,
    message: OutboundMessage,
  ) {
    const left = attempt.answerBy.getTime() - Date.now();
    if (left <= 0) return settle(line, attempt, { kind: 'not_sent', reason: 'not started in time' });
    const outcome = await carrier.send(config, message, AbortSignal.timeout(left));
    if (outcome.kind !== 'unknown') return settle(line, attempt, outcome, message.text);
    logger.warn(
      { lineId: line.lineId, attemptId: attempt.id, reason: outcome.reason },
      'the carrier did not answer',
    );
    return reconcileOne(line, carrier, config, attempt, {
      text: message.text,
      attachmentCount: message.attachments.length,
    });
  }

  async function reconcileOne(
    line: SendingLine,
    carrier: Carrier,
    config: unknown,
    attempt: AttemptRow,
    content: { text: string | null; attachmentCount: number },
  ): Promise<void> {
    const { id: attemptId, lineId, channel, address: to, startedAt } = attempt;
    const takenIds = await tenant(line, (db) => carrierIdsAt(db, lineId, to));
    const found = await carrier.reconcile(config, {
      attemptId,
      lineId,
      channel,
      to,
      startedAt,
      takenIds,
      ...content,
    });
    if (found.kind === 'accepted') return settle(line, attempt, found, content.text);
    if (found.kind === 'not_sent')
      return settle(line, attempt, { kind: 'not_sent', reason: 'the carrier did not take it' });
    const tooOld = Date.now() - startedAt.getTime() > RECONCILE_FOR_MS;
    if (found.kind === 'unknown' || tooOld)
      await settle(line, attempt, { kind: 'unknown', reason: 'outcome_unknown' });
  }

  /** Whom to ask about an attempt, and what it sent as far as that can still be told. */
  async function contextOf(db: TenantDb, attempt: AttemptRow) {
    const [row, account] = [await findLine(db, attempt.lineId), await findFallbackAccount(db)];
    const isFallback = attempt.kind === 'fallback';
    if (!row || (isFallback && account?.provider !== attempt.carrier)) return null;
    const carrier = carriers.get(attempt.carrier);
    const message = await findMessage(db, attempt.messageId);
    const lead = message?.leadId ? await findLead(db, message.leadId) : null;
    const sent = message && render(message, isFallback ? fallbackText(message, account) : message.body, lead);
    return {
      carrier,
      config:
        isFallback && account
          ? fallbackConfig(carrier, account, db.workspaceId, secrets)
          : lineCarrier({ carriers, secrets }, row).config,
      content: {
        text: sent && 'text' in sent ? sent.text : null,
        attachmentCount: message?.attachmentUrls.length ?? 0,
      },
    };
  }

  async function sendPrimary(line: SendingLine, { line: row, message, lead, attempt }: Claim): Promise<void> {
    // Rendering is synchronous: between two of a batch, whatever else waits has its turn.
    await nextTurn();
    const rendered = render(message, message.body, lead);
    if ('reason' in rendered) return settle(line, attempt, { kind: 'unsendable', ...rendered });
    const { text } = rendered;
    const files = await filesOf(line, message, attempt);
    if (files.kind !== 'files') return settle(line, attempt, files);
    const from = { address: row.phone ?? row.email ?? '', name: `${row.firstName} ${row.lastName}`.trim() };
    const { carrier, config } = lineCarrier({ carriers, secrets }, row);
    await attemptSend(line, carrier, config, attempt, outbound(message, attempt, { text, from, ...files }));
  }

  async function filesOf(line: SendingLine, message: MessageRow, { channel }: AttemptRow): Promise<Files> {
    if (message.attachmentUrls.length === 0) return { kind: 'files', attachments: [] };
    return tenant(line, (db) => outboundFiles(db, message, channel, links));
  }

  function outbound(
    message: MessageRow,
    attempt: AttemptRow,
    { text, from, attachments }: Pick<OutboundMessage, 'text' | 'from' | 'attachments'>,
  ): OutboundMessage {
    return {
      attemptId: attempt.id,
      messageId: message.id,
      lineId: attempt.lineId,
      channel: attempt.channel,
      from,
      to: { address: attempt.address, name: message.recipientName },
      text,
      ...(message.subject !== null && { subject: message.subject }),
      attachments,
      callbackUrl: `${publicUrl}/callbacks/carriers/${attempt.carrier}/${attempt.lineId}`,
      ...(attempt.channel === 'email' && {
        unsubscribeUrl: unsubscribeLinks.url({ workspaceId: message.workspaceId, messageId: message.id }),
      }),
    };
  }

  /** The SMS that follows a fallback: through the workspace's own account, not through the line. */
  async function sendFallback(line: SendingLine, messageId: string): Promise<void> {
    const claim = await tenant(line, async (db) => {
      const row = await lockLine(db, line.lineId);
      if (!row || (row.heldUntil !== null && row.heldUntil > new Date())) return null;
      // Since the plan.
      if (row.pausedAt !== null || (await isPastDue(db))) return null;
      const message = await findMessage(db, messageId);
      const account = await findFallbackAccount(db);
      if (message?.fallbackSms !== 'due' || message.recipientPhone === null || !account) return null;
      if ((await isOptedOut(db, message.recipientPhone)) || (await isOfErased(db, message))) {
        await setFallbackSms(db, messageId, 'failed');
        return null;
      }
      const now = new Date();
      const attempt: AttemptRow = {
        id: newId(now),
        messageId,
        lineId: line.lineId,
        kind: 'fallback',
        channel: 'sms',
        carrier: account.provider,
        address: message.recipientPhone,
        isNew: false,
        contactLastSentAt: null,
        startedAt: now,
        answerBy: new Date(now.getTime() + carriers.get(account.provider).timeoutMs),
      };
      await insertAttempts(db, [attempt]);
      return {
        message,
        account,
        attempt,
        lead: message.leadId === null ? null : await findLead(db, message.leadId),
      };
    });
    if (!claim) return;
    const { message, account, attempt, lead } = claim;
    const carrier = carriers.get(account.provider);
    const rendered = render(message, fallbackText(message, account), lead);
    if ('reason' in rendered) return settle(line, attempt, { kind: 'unsendable', ...rendered });
    const { text } = rendered;
    const config = fallbackConfig(carrier, account, line.workspaceId, secrets);
    const files = await filesOf(line, message, attempt);
    if (files.kind !== 'files') return settle(line, attempt, files);
    const from = { address: account.fromNumber ?? '', name: '' };
    await attemptSend(line, carrier, config, attempt, outbound(message, attempt, { text, from, ...files }));
  }

  return {
    /** @returns null when the line is no longer in this workspace. */
    plan: (line: SendingLine): Promise<SendPlan | null> => {
      const { timeoutMs } = carriers.get(line.carrier);
      return decide(pools, line.workspaceId, linePacerId(line.lineId), (db) =>
        planSends(db, line.lineId, timeoutMs, new Date()),
      );
    },

    /** Sends what was claimed, side by side; then the fallbacks that are owed. */
    async send(line: SendingLine, plan: SendPlan): Promise<{ retryAt: Date | null }> {
      await Promise.all(plan.claims.map((claim) => sendPrimary(line, claim)));
      for (const messageId of plan.forced) {
        await tenant(line, (db) => forceFallback(db, messageId, new Date()));
      }
      for (const messageId of plan.owed) await sendFallback(line, messageId);
      return { retryAt: plan.owed.length === 0 ? null : new Date(Date.now() + RECONCILE_EVERY_MS) };
    },

    /**
     * Settles attempts without an outcome whose time to answer is over: their call has ended, one way or another.
     * @returns when the line has something to do again: at once when one was settled, for its message may be back in
     * the queue or owe a fallback; else when to ask again.
     */
    async reconcile(line: SendingLine): Promise<Date> {
      const open = await tenant(line, (db) => openAttempts(db, line.lineId));
      for (const attempt of open) {
        if (attempt.answerBy.getTime() + MARGIN_MS > Date.now()) continue;
        const asked = await tenant(line, (db) => contextOf(db, attempt));
        if (asked) await reconcileOne(line, asked.carrier, asked.config, attempt, asked.content);
        // The account it went through was replaced: nobody can be asked any more.
        else await settle(line, attempt, { kind: 'unknown', reason: 'outcome_unknown' });
      }
      const left = await tenant(line, (db) => openAttempts(db, line.lineId));
      if (left.length === 0 || left.length < open.length) return new Date();
      const answers = left.map(({ answerBy }) => answerBy.getTime() + MARGIN_MS);
      return new Date(
        Math.max(
          Date.now() + 1000,
          Math.min(...answers),
          Date.now() + (Math.min(...answers) < Date.now() ? RECONCILE_EVERY_MS : 0),
        ),
      );
    },
  };
}

const render = (message: MessageRow, template: string, lead: LeadRow | null): OutgoingText =>
  outgoingText(template, lead && presentLead(lead), message.attachmentUrls.length);
