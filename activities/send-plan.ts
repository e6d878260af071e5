import { type AttemptRow, callHistory, insertAttempts, lineHistory } from '#db/queries/attempts.ts';
import { stopFailed } from '#db/commands/campaigns/campaign-stops.ts';
import { setSendNow } from '#db/queries/line-orders.ts';
import { type LineRow, lockLine, pacedLine } from '#db/queries/lines.ts';
import { findLeads, type LeadRow } from '#db/queries/leads.ts';
import { emitMessageEvents } from '#db/commands/sending/message-events.ts';
import { lockSequences } from '#db/queries/message-locks.ts';
import type { MessageRow } from '#db/queries/messages.ts';
import type { TenantDb } from '#db/transactions.ts';
import {
  dueForcedFallbacks,
  dueMessages,
  setHoldReason,
  moveMessages,
  nextDueAt,
} from '#db/queries/queue.ts';
import {
  advanceMessage,
  lockConversations,
  recordOutbound,
  owedFallbacks,
  startSending,
} from '#db/queries/sends.ts';
import { isPastDue, workspaceTimezone } from '#db/queries/workspaces.ts';
import { dayBounds, hourBounds } from '#domain/calendar.ts';
import { circuitAt } from '#domain/circuit.ts';
import { newId } from '#domain/ids.ts';
import {
  HOLD_REASONS,
  type HoldReason,
  type LineHistory,
  type PacedLine,
  type Plan,
  planLine,
  type QueuedMessage,
} from '#domain/pacing.ts';
import type { Look } from './round.ts';

/** One message that the rules let go, with its attempt on record. */
export interface Claim {
  line: LineRow;
  message: MessageRow;
  lead: LeadRow | null;
  attempt: AttemptRow;
}

export interface SendPlan extends Look {
  claims: Claim[];
  /** Messages that leave as SMS at once, without the line. */
  forced: string[];
  /** Messages whose fallback SMS is still owed. */
  owed: string[];
  /** An operator has paused the line. */
  isPaused: boolean;
  /** The line had attempts without an outcome before these: a crash or a lost answer left them. */
  hasOpenAttempts: boolean;
}

/** Due messages looked at in the ordinary case, and when a cap is reached. */
const LOOKAHEAD = 300;
const WHOLE_QUEUE = 100_000;
/** What a carrier did longer ago says nothing of how it is now. */
const CALLS_COUNT_MS = 24 * 3_600_000;
/** As long as it takes to commit a reply or a message. */
const CONTENTION_RETRY_MS = 50;
/** Sends claimed at once by a line without a gap. */
const BATCH = 16;

/**
 * Decides under the line's lock what it sends now, and commits that decision with its attempts: caps, gaps and
 * windows hold whatever else happens at the same moment. With that lock held it waits for next to nobody: what others
 * are just changing it looks at again a moment later.
 * @returns null when the line is no longer in this workspace.
 */
export async function planSends(
  db: TenantDb,
  lineId: string,
  carrierTimeoutMs: number,
  now: Date,
): Promise<SendPlan | null> {
  const line = await lockLine(db, lineId);
  if (!line) return null;

  const timezone = await workspaceTimezone(db);
  const bounds = { day: dayBounds(timezone, now).start, hour: hourBounds(timezone, now).start };
  const { hasOpen: hasOpenAttempts, ...history } = await lineHistory(db, lineId, bounds);
  const pastDue = await isPastDue(db);
  const forced = await dueForcedFallbacks(db, lineId, now);
  const isPaused = line.pausedAt !== null;
  const stopped = pastDue ? 'subscription_past_due' : isPaused ? 'line_paused' : null;
  const found = {
    claims: [],
    forced: stopped ? [] : forced,
    owed: stopped ? [] : await owedFallbacks(db, lineId),
    isPaused,
    hasOpenAttempts,
  };
  if (line.heldUntil !== null && line.heldUntil > now) {
    return { ...found, forced: [], owed: [], nextAt: line.heldUntil, reason: 'the line is being changed' };
  }
  const { send: allowed, wait } = await applyRules(
    db,
    { ...plannedLine(line, timezone), pastDue },
    history,
    now,
  );
  if (stopped) {
    await setHoldReason(db, forced, stopped);
    // What falls due meanwhile is told why it waits.
    const nextAt = await nextDueAt(db, lineId, now);
    return { ...found, nextAt, reason: operatorsReason(stopped) };
  }
  const busy = await lockConversations(
    db,
    allowed.map(({ address }) => address),
  );
  const send = allowed.filter(({ address }) => !busy.has(address));
  if (allowed.length === 0) {
    const next: Plan['next'] = wait ?? { at: await nextDueAt(db, lineId), reason: 'scheduled' };
    const nextAt = forced.length > 0 ? now : next.at;
    const reason = operatorsReason(next.at === null && !wait ? 'idle' : next.reason);
    return { ...found, nextAt, reason };
  }
  const claims = send.length === 0 ? [] : await claim(db, line, send, carrierTimeoutMs, now);
  if (claims.length === 0)
    return {
      ...found,
      nextAt: new Date(now.getTime() + CONTENTION_RETRY_MS),
      reason: 'others are changing what is due',
    };
  // The round goes on after these; one that dies is found by the sweep.
  return { ...found, claims, nextAt: now, reason: 'more may be due' };
}

/** Without its full stop: it stands within a sentence there. */
const operatorsReason = (reason: HoldReason): string => HOLD_REASONS[reason].replace(/\.$/, '');

interface Ruling {
  send: QueuedMessage[];
  /** What holds the whole line back, when something does. */
  wait: Plan['next'] | null;
}

async function applyRules(db: TenantDb, line: PlannedLine, history: LineHistory, now: Date): Promise<Ruling> {
  const look = async (limit: number) => {
    const queue = await dueMessages(db, line.id, now, limit, line.sendNow);
    // Nobody asks about the carrier of a line that has nothing to send.
    const calls =
      queue.length > 0 && (await callHistory(db, line.id, new Date(now.getTime() - CALLS_COUNT_MS)));
    const paced = calls ? { ...line, circuit: circuitAt(calls, now) } : line;
    return { queue, plan: planLine(paced, history, now, queue, { batch: BATCH }) };
  };
  let { queue, plan } = await look(LOOKAHEAD);
  // Equals keep their order only if a rule that moves some of them moves them all: then the whole queue is looked at.
  if (plan.moves.length > 0 && queue.length === LOOKAHEAD) ({ queue, plan } = await look(WHOLE_QUEUE));
  const refused = queue.filter(({ optedOut }) => optedOut);
  // Before other messages are locked: it waits for whoever holds these.
  await failOptedOut(db, refused, now);
  await moveMessages(db, plan.moves);

  const chosen = new Set(plan.send);
  await forgetUrgent(db, line, [...plan.send, ...plan.moves.map(({ id }) => id)], queue);
  const send = queue.filter(({ id }) => chosen.has(id));
  const held = queue.length - refused.length - plan.moves.length > 0;
  if (send.length > 0 || !held) return { send, wait: null };
  await setHoldReason(
    db,
    queue.slice(0, LOOKAHEAD).map(({ id }) => id),
    plan.next.reason,
  );
  return { send, wait: plan.next };
}

/** What an operator wanted to leave now, and what a rule keeps from it, is not wanted any more. */
async function forgetUrgent(
  db: TenantDb,
  { id, sendNow }: PlannedLine,
  planned: readonly string[],
  queue: readonly QueuedMessage[],
): Promise<void> {
  if (sendNow.length === 0) return;
  const left = sendNow.filter(
    (message) =>
      !planned.includes(message) && queue.some((queued) => queued.id === message && !queued.optedOut),
  );
  if (left.length < sendNow.length) await setSendNow(db, id, left);
}

/**
 * Why a message that is due could not leave its line now, if it went ahead of all others and kept no gap.
 * @returns in words for the operator; null: it could. Under the line's lock.
 */
export async function whyHeld(
  db: TenantDb,
  line: LineRow,
  messageId: string,
  now: Date,
): Promise<string | null> {
  const timezone = await workspaceTimezone(db);
  const bounds = { day: dayBounds(timezone, now).start, hour: hourBounds(timezone, now).start };
  const history = await lineHistory(db, line.id, bounds);
  const pastDue = await isPastDue(db);
  if (pastDue) return HOLD_REASONS.subscription_past_due;
  if (line.pausedAt !== null) return HOLD_REASONS.line_paused;
  const calls = await callHistory(db, line.id, new Date(now.getTime() - CALLS_COUNT_MS));
  const paced = { ...plannedLine(line, timezone), circuit: circuitAt(calls, now) };
  const [message] = await dueMessages(db, line.id, now, 1, [messageId]);
  // One that leaves as SMS at once is not in the line's queue.
  if (message?.id !== messageId) return null;
  if (message.optedOut) return 'The contact has opted out.';
  const { send, moves, next } = planLine(paced, history, now, [message]);
  return send.length > 0 ? null : HOLD_REASONS[moves[0]?.reason ?? next.reason];
}

async function failOptedOut(db: TenantDb, refused: readonly QueuedMessage[], now: Date): Promise<void> {
  if (refused.length === 0) return;
  await lockSequences(
    db,
    refused.map(({ id }) => id),
  );
  const failed: MessageRow[] = [];
  for (const { id } of refused) {
    const message = await advanceMessage(db, id, ['pending', 'scheduled'], {
      to: 'failed',
      errorMessage: 'recipient_opted_out',
    });
    if (message) failed.push(message);
  }
  await stopFailed(db, failed, now);
  await emitMessageEvents(
    db,
    failed.map((message) => ({ event: 'message.failed', message, data: { error: 'recipient_opted_out' } })),
    now,
  );
}

async function claim(
  db: TenantDb,
  line: LineRow,
  send: readonly QueuedMessage[],
  carrierTimeoutMs: number,
  now: Date,
): Promise<Claim[]> {
  const queued = new Map(send.map((message) => [message.id, message]));
  const messages = await startSending(db, [...queued.keys()]);
  const leads = await findLeads(
    db,
    messages.flatMap(({ leadId }) => leadId ?? []),
  );
  const order = [...queued.keys()];
  const opened = new Set<string>();
  const claims = messages
    .toSorted((a, b) => order.indexOf(a.id) - order.indexOf(b.id))
    .map((message): Claim => {
      const isNew = (queued.get(message.id)?.isNew ?? false) && !opened.has(message.address);
      opened.add(message.address);
      const attempt: AttemptRow = {
        id: newId(now),
        messageId: message.id,
        lineId: line.id,
        kind: 'primary',
        channel: message.channel,
        carrier: line.carrier,
        address: message.address,
        isNew,
        contactLastSentAt: queued.get(message.id)?.contactLastSentAt ?? null,
        startedAt: now,
        answerBy: new Date(now.getTime() + carrierTimeoutMs),
      };
      return { line, message, lead: leads.get(message.leadId ?? '') ?? null, attempt };
    });
  await insertAttempts(
    db,
    claims.map(({ attempt }) => attempt),
  );
  await recordOutbound(
    db,
    line.id,
    claims.map(({ message }) => message.address),
    now,
  );
  return claims;
}

interface PlannedLine extends PacedLine {
  /** The messages that an operator wants to leave now. */
  sendNow: readonly string[];
}

const plannedLine = (line: LineRow, timezone: string): PlannedLine => ({
  ...pacedLine(line, timezone),
  sendNow: line.sendNow,
});
