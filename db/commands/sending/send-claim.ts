import { currentTime } from '#domain/base/clock.ts';
import { type AttemptRow, hasOpenAttempt, insertAttempts } from '#db/queries/sending/attempts.ts';
import { isOfDeleted } from '#db/queries/contacts/erasures.ts';
import { isOptedOut } from '#db/queries/contacts/opt-outs.ts';
import { suppressedAmong } from '#db/queries/contacts/suppressions.ts';
import { findFallbackAccount } from '#db/queries/sending/fallback-config.ts';
import { addressesOf, findLead, findLeads, type LeadRow } from '#db/queries/contacts/leads.ts';
import { type LineRow, lockLine } from '#db/queries/lines/lines.ts';
import { failFallbackSms } from '../messages/message-events.ts';
import type { MessageRow } from '#db/queries/messages/messages.ts';
import { lockPersons, personHolds } from '#db/queries/sending/person-holds.ts';
import { markKnownUnlessBusy, recordMoves } from '#db/queries/sending/queue-changes.ts';
import {
  endHold,
  lockBubbles,
  lockConversations,
  lockDueFallback,
  recordOutbound,
  startSending,
} from '#db/queries/sending/sends.ts';
import { findWorkspaceStop } from '#db/queries/accounts/workspaces.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { isLinked } from '#domain/lines/first-touch.ts';
import { SILENT_FROM } from '#domain/lines/line-signals.ts';
import { isByMember, isWritten } from '#domain/messages/accepted-message.ts';
import { newId } from '#domain/base/ids.ts';
import { delayedBy, endOfGap, type LineHistory, type PacedLine } from '#domain/sending/holds.ts';
import type { QueuedMessage } from '#domain/sending/pacing.ts';
import { contactKey } from '#domain/base/contact-key.ts';

/** A message that may be sent now, with its recorded attempt. */
export interface StartedAttempt {
  line: LineRow;
  message: MessageRow;
  lead: LeadRow | null;
  attempt: AttemptRow;
  /** Since when it might have been sent: no rule and no gap has held it since. */
  mayBeSentAt: Date;
}

/**
 * Claims the chosen messages, except those that other transactions are changing, or whose contacts they are changing.
 * Requires the line's lock.
 */
export async function claimMessages(
  db: TenantDb,
  { row, line, history }: { row: LineRow; line: PacedLine; history: Pick<LineHistory, 'lastSentAt'> },
  chosen: readonly QueuedMessage[],
  carrierTimeoutMs: number,
  now: Date,
): Promise<StartedAttempt[]> {
  const inUse = await lockConversations(
    db,
    chosen.map(({ address }) => address),
  );
  const free = await withinCap(
    db,
    line,
    chosen.filter(({ address }) => !inUse.has(address)),
    now,
  );
  const busy = await markKnownUnlessBusy(
    db,
    line.id,
    free.filter(({ isNew }) => isNew).map(({ address }) => address),
    free.map(({ id }) => id),
  );
  const send = free.filter(({ address }) => !busy.has(address));
  if (send.length === 0) return [];
  const claims = await startAttempts(db, row, send, carrierTimeoutMs, now);
  if (claims.length === 0) return [];
  const queued = new Map(send.map((message) => [message.id, message]));
  const gapEnd = endOfGap(line, history.lastSentAt);
  // The end of a hold is known only to within the plan that finds it.
  const endOfHold = row.recordedHold === null ? null : now;
  const moves = [];
  for (const claim of claims) {
    const { id, createdAt } = claim.message;
    const message = queued.get(id);
    if (!message) continue;
    const dueAt = latest(createdAt, message.scheduledAt);
    const moved = delayedBy(line, { ...message, dueAt }, now);
    if (moved) moves.push({ id, ...moved });
    claim.mayBeSentAt = [moved?.to, gapEnd, endOfHold].reduce<Date>((a, b) => latest(a, b ?? a), dueAt);
  }
  await recordMoves(db, moves);
  return claims;
}

/** Without messages that another line's send, since the plan, puts beyond the cap of their persons. Requires their conversations' locks. */
async function withinCap(
  db: TenantDb,
  { persons }: PacedLine,
  messages: readonly QueuedMessage[],
  now: Date,
): Promise<readonly QueuedMessage[]> {
  const steps = messages.filter(({ isStep, isUrgent }) => isStep && !isUrgent);
  if (!persons?.frequencyCap || steps.length === 0) return messages;
  const busy = await lockPersons(
    db,
    steps.flatMap(({ leadId }) => leadId ?? []),
  );
  const holds = await personHolds(db, persons, steps, now);
  const left = new Set(
    steps.filter(({ id, leadId }) => holds.has(id) || busy.has(leadId ?? '')).map(({ id }) => id),
  );
  return messages.filter(({ id }) => !left.has(id));
}

const latest = (a: Date, b: Date): Date => (a > b ? a : b);

/** Sets messages to `sending` and records their attempts, before the carrier is called. */
async function startAttempts(
  db: TenantDb,
  line: LineRow,
  send: readonly Pick<QueuedMessage, 'id' | 'isNew' | 'contactLastSentAt'>[],
  carrierTimeoutMs: number,
  now: Date,
  kind: 'primary' | 'bubble' = 'primary',
): Promise<StartedAttempt[]> {
  const queued = new Map(send.map((message) => [message.id, message]));
  const order = [...queued.keys()];
  const messages = await startSending(db, order);
  const leads = await findLeads(
    db,
    messages.flatMap(({ leadId }) => leadId ?? []),
  );
  const opened = new Set<string>();
  const claims = messages
    .toSorted((a, b) => order.indexOf(a.id) - order.indexOf(b.id))
    .map((message): StartedAttempt => {
      const isNew = (queued.get(message.id)?.isNew ?? false) && !opened.has(message.address);
      opened.add(message.address);
      const attempt: AttemptRow = {
        id: newId(now),
        messageId: message.id,
        lineId: line.id,
        kind,
        channel: message.channel,
        carrier: line.carrier,
        address: message.address,
        isNew,
        contactLastSentAt: queued.get(message.id)?.contactLastSentAt ?? null,
        startedAt: now,
        answerBy: new Date(now.getTime() + carrierTimeoutMs),
      };
      return { line, message, lead: leads.get(message.leadId ?? '') ?? null, attempt, mayBeSentAt: now };
    });
  await insertAttempts(
    db,
    claims.map(({ attempt }) => attempt),
  );
  await recordSends(db, line.id, claims, now);
  return claims;
}

/**
 * Claims bubbles whose predecessors were sent: regardless of gaps and caps, as they have the place of the first. One that is not sent
 * joins the queue, like any message. Requires the line's lock.
 */
export async function claimBubbles(
  db: TenantDb,
  row: LineRow,
  ids: readonly string[],
  carrierTimeoutMs: number,
  now: Date,
): Promise<StartedAttempt[]> {
  const found = await lockBubbles(db, ids);
  const inUse = await lockConversations(
    db,
    found.map(({ address }) => address),
  );
  const free = found
    .filter(({ address }) => !inUse.has(address))
    .map(({ id, contactLastSentAt }) => ({ id, contactLastSentAt, isNew: false }));
  if (free.length === 0) return [];
  await endHold(
    db,
    free.map(({ id }) => id),
  );
  return startAttempts(db, row, free, carrierTimeoutMs, now, 'bubble');
}

/** Counts the sends for the line's reputation, as if all were accepted; the others are subtracted when they are settled. */
async function recordSends(
  db: TenantDb,
  lineId: string,
  claims: readonly StartedAttempt[],
  now: Date,
): Promise<void> {
  const opening = claims.filter(({ attempt }) => attempt.isNew);
  const byAddress = Map.groupBy(claims, ({ message }) => message.address);
  const written = claims
    .filter(({ message }) => isWritten(message))
    .toSorted((a, b) => a.message.createdAt.getTime() - b.message.createdAt.getTime());
  const contacts = await recordOutbound(
    db,
    lineId,
    claims.map(({ message }) => message.address),
    {
      opened: new Set(opening.map(({ message }) => message.address)),
      answeredAt: new Map(written.map(({ message: { address, createdAt } }) => [address, createdAt])),
      byMember: new Set(
        claims.filter(({ message }) => isByMember(message)).map(({ message }) => message.address),
      ),
    },
    now,
  );
  const runs = contacts.map(({ address, unanswered }) => ({
    before: unanswered - (byAddress.get(address)?.length ?? 0),
    unanswered,
  }));
  db.lineSignals.add(lineId, now, {
    sent: claims.length,
    opened: opening.length,
    linked: opening.filter(({ message }) => isLinked(message)).length,
    approached: runs.filter(({ before }) => before === 0).length,
    silent: runs.filter(({ before, unanswered }) => before < SILENT_FROM && unanswered >= SILENT_FROM).length,
  });
}

/**
 * Records the attempt of a fallback SMS.
 * @param requireSettings throws if the settings of the account cannot be read: then nothing is claimed.
 * @param timeoutOf how long a provider may take to answer, in milliseconds.
 * @returns null if it may not be sent any more, or not now: something may have changed since the plan.
 */
export async function claimFallback(
  db: TenantDb,
  lineId: string,
  messageId: string,
  timeoutOf: (provider: string) => number,
  requireSettings: (account: NonNullable<Awaited<ReturnType<typeof findFallbackAccount>>>) => void = () => {},
) {
  const row = await lockLine(db, lineId);
  if (!row || (row.heldUntil !== null && row.heldUntil > currentTime())) return null;
  if (row.pausedAt !== null || (await findWorkspaceStop(db)) !== null) return null;
  // It may have been moved to another line, which sends it as well.
  const message = await lockDueFallback(db, lineId, messageId);
  const account = await findFallbackAccount(db);
  if (!message || message.recipientPhone === null || !account) return null;
  // It stays due until its outcome is known: after a crash, or when the carrier did not answer, it may have left.
  if (await hasOpenAttempt(db, messageId)) return null;
  const address = contactKey(message.recipientPhone);
  const isSuppressed = (await suppressedAmong(db, [address])).size > 0;
  const lead = message.leadId === null ? null : await findLead(db, message.leadId);
  // Where a campaign writes to a lead whose number was corrected, a stranger may have the former one.
  const isFormer = message.stepIndex !== null && lead !== null && !addressesOf(lead).includes(address);
  const mustNotBeSent =
    isFormer || isSuppressed || (await isOptedOut(db, address)) || (await isOfDeleted(db, message));
  // Somebody who switches fallbacks off expects no more of them, also of messages that have failed before.
  if (mustNotBeSent || !account.enabled) {
    await failFallbackSms(db, message, currentTime());
    return null;
  }
  requireSettings(account);
  const now = currentTime();
  const attempt: AttemptRow = {
    id: newId(now),
    messageId,
    lineId,
    kind: 'fallback',
    channel: 'sms',
    carrier: account.provider,
    address,
    isNew: false,
    contactLastSentAt: null,
    startedAt: now,
    answerBy: new Date(now.getTime() + timeoutOf(account.provider)),
  };
  await insertAttempts(db, [attempt]);
  return { line: row, message, account, attempt, lead };
}
