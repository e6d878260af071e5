import pLimit from 'p-limit';
import { currentTime } from '#domain/base/clock.ts';
import { type AttemptRow, type OpenAttempt, openAttempts } from '#db/queries/sending/attempts.ts';
import { findFallbackAccount } from '#db/queries/sending/fallback-config.ts';
import { findLead } from '#db/queries/contacts/leads.ts';
import { findCarrierGroup } from '#db/queries/inbox/groups.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { findMessage } from '#db/queries/messages/messages.ts';
import { withOwnLinks } from '#db/commands/messages/message-links.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { fallbackText } from '#domain/messages/outgoing-text.ts';
import { dialled } from '#domain/base/contact-key.ts';
import { fallbackConfig } from '#providers/carriers/fallback-account.ts';
import { type AttemptContent, type CarrierAccount, type CarrierCalls, lineAccount } from './carrier-calls.ts';
import type { Dependencies } from '../dependencies.ts';
import type { LineAtCarrier } from '../lines/line-location.ts';
import { renderMessage } from './outbound-message.ts';
import type { Settle } from './settlement.ts';

/** A call that timed out may have reached the carrier at that moment, and clocks differ. */
const MARGIN_MS = 1000;
const ASK_AGAIN_MS = 10_000;
const ASKED_AT_ONCE = 16;

/** Determines the outcome of attempts that a crash or a lost response left open. */
export function createReconciliation(
  {
    pools,
    carriers,
    secrets,
    logger,
    publicUrl,
  }: Pick<Dependencies, 'pools' | 'carriers' | 'secrets' | 'logger' | 'publicUrl'>,
  calls: CarrierCalls,
  settle: Settle,
) {
  type Fallback = Awaited<ReturnType<typeof findFallbackAccount>>;

  /**
   * @returns null when the account that the attempt went through was replaced: nobody can be asked any more. A fallback SMS can also
   * have had another default text then, which its account would not find.
   */
  async function accountOf(
    db: TenantDb,
    attempt: AttemptRow,
    fallback: Fallback,
  ): Promise<CarrierAccount | null> {
    const row = await findLine(db, attempt.lineId);
    const carrier = carriers.get(attempt.carrier);
    if (attempt.kind !== 'fallback') return row && { ...lineAccount({ carriers, secrets }, row), carrier };
    if (!row || fallback?.provider !== attempt.carrier || fallback.updatedAt > attempt.startedAt) return null;
    const config = fallbackConfig(carrier, fallback, db.workspaceId, secrets);
    return { carrier, config, from: fallback.fromNumber };
  }

  async function contentOf(db: TenantDb, attempt: AttemptRow, fallback: Fallback): Promise<AttemptContent> {
    const message = await findMessage(db, attempt.messageId);
    const group = await findCarrierGroup(db, attempt.address);
    const about = group ? { group } : {};
    if (!message) return { text: null, attachmentCount: 0, to: attempt.address, ...about };
    const lead = message.leadId === null ? null : await findLead(db, message.leadId);
    const template = attempt.kind === 'fallback' ? fallbackText(message, fallback) : message.body;
    const rendered = renderMessage(message, template, lead);
    const isSame = message.leadId === null || (lead !== null && lead.updatedAt <= attempt.startedAt);
    const text = 'text' in rendered ? sentText(rendered.text, template, isSame) : null;
    return {
      text: text && (await withOwnLinks(db, message.id, text, publicUrl)),
      attachmentCount: message.attachmentUrls.length,
      to: dialled(attempt.address, message.recipientPhone),
      ...about,
    };
  }

  async function reconcileOne(line: LineAtCarrier, attempt: OpenAttempt): Promise<void> {
    const asked = await withTenant(pools, line.workspaceId, async (db) => {
      const fallback = attempt.kind === 'fallback' ? await findFallbackAccount(db) : null;
      const account = await accountOf(db, attempt, fallback);
      return account && { account, content: await contentOf(db, attempt, fallback) };
    });
    if (asked) await calls.ask(line, asked.account, attempt, asked.content);
    else await settle(line, attempt, { kind: 'unknown', reason: 'outcome_unknown' });
  }

  /** An attempt that nobody can be asked about now, for example because a key is missing, stays open and delays no other. */
  async function reconcileApart(line: LineAtCarrier, attempt: OpenAttempt): Promise<void> {
    try {
      await reconcileOne(line, attempt);
    } catch (error) {
      const { workspaceId, lineId } = line;
      logger.error({ workspaceId, lineId, attemptId: attempt.id, error }, 'an attempt cannot be reconciled');
    }
  }

  /**
   * Settles the open attempts of a line whose `answerBy` is past: their calls have ended, one way or another.
   * @param isOver as in `send` of the sender.
   * @returns when the line has work again: now if an attempt was settled, because its message may be back in the queue or
   *   need a fallback; otherwise when to ask again.
   */
  return async (line: LineAtCarrier, isOver: () => boolean): Promise<Date> => {
    const findOpen = () => withTenant(pools, line.workspaceId, (db) => openAttempts(db, line.lineId));
    const open = await findOpen();
    const ended = open.filter(({ answerBy }) => answerBy.getTime() + MARGIN_MS <= currentTime().getTime());
    // Side by side, as a carrier that does not answer takes its time for each. Two messages to an address can be taken for each other.
    const atOnce = pLimit(ASKED_AT_ONCE);
    const byAddress = Map.groupBy(ended, ({ address }) => address);
    await Promise.all(
      [...byAddress.values()].map((attempts) =>
        atOnce(async () => {
          for (const attempt of attempts) if (!isOver()) await reconcileApart(line, attempt);
        }),
      ),
    );
    const left = await findOpen();
    if (left.length === 0 || left.length < open.length) return currentTime();
    return askAgainAt(new Date(Math.min(...left.map(({ answerBy }) => answerBy.getTime()))));
  };
}

/**
 * The text that an attempt has sent; null: not known, because its lead was changed or deleted since. Another text would not be found at
 * the carrier, and the message would be sent again.
 * @param isSame whether the lead is as it was.
 */
export const sentText = (rendered: string, template: string, isSame: boolean): string | null =>
  isSame || rendered === template ? rendered : null;

/** When the first call has ended; later when the carrier has been asked about it already. */
export function askAgainAt(firstAnswerBy: Date): Date {
  const now = currentTime().getTime();
  const firstEnd = firstAnswerBy.getTime() + MARGIN_MS;
  return new Date(firstEnd < now ? now + ASK_AGAIN_MS : Math.max(now + 1000, firstEnd));
}
