import type { CampaignStatus } from '../campaigns/campaign.ts';
import {
  clamp,
  endOfGap,
  heldOutside,
  type Moved,
  movedBy,
  type PacedLine,
  type PacedMessage,
  rulesOf,
  timesOf,
} from './holds.ts';
import type { StoredStatus } from '../messages/message-status.ts';
import { credentialsRefusal } from '../messages/send-outcome.ts';
import { awaitsOpening } from './send-window.ts';
import type { LineReason, WaitReason } from './wait-reasons.ts';

/**
 * Why a message waits: the one place that decides it. The plan of sends, a message, its timeline, the progress of its campaign and the
 * answers to operators all ask here. Pure functions that take the time as a parameter.
 */

/** A line that may send a message. */
export interface WaitingLine extends PacedLine {
  lastSentAt: Date | null;
  /** The task queue that sending requires and no worker serves; absent: all are served, or it is not known. */
  unserved?: string | null;
}

/** No line of the workspace can send the message. */
export interface NoLine extends Pick<PacedLine, 'suspended' | 'pastDue'> {
  id: null;
}

/** The facts about a message. All that are optional are absent for a message in the queue of its line. */
export interface WaitingMessage extends PacedMessage {
  status?: StoredStatus;
  /** As stored: why it is not queued, or was moved to its scheduled time. */
  holdReason?: string | null;
  /** It is not in the queue of its line yet. */
  unqueued?: boolean;
  /** It is sent as SMS at once, without its line. */
  smsOnly?: boolean;
  optedOut?: boolean;
  /** null: it belongs to no campaign. */
  campaign?: CampaignStatus | null;
  /** The earliest time of the fallback SMS that it awaits; null: it awaits none. */
  fallbackAt?: Date | null;
  /** By when the carrier answers the attempt that has no outcome yet. */
  answerBy?: Date | null;
}

export interface Wait {
  reason: WaitReason;
  /** null: until something changes. */
  until: Date | null;
  /** The earliest time at which it is sent, as callers see it. */
  scheduledAt: Date;
  /** The cap or window that postponed it, also if that is over; null: none that the line remembers. */
  moved: Moved | null;
}

/** Why a line sends nothing at all. */
export interface LineWait {
  reason: LineReason;
  /** null: until something changes. */
  until: Date | null;
}

/** Reasons why a message is not in its line's queue yet. */
const UNQUEUED = [
  'lead_paused',
  'opt_out_suspected',
  'personalization',
  'previous_step',
  'set_aside',
] as const satisfies WaitReason[];

/** Reasons for which a message was moved to its scheduled time. */
const MOVED = [
  'carrier_pause',
  'carrier_retry',
  'contact_busy',
  'contact_gap',
  'credentials_refused',
  'frequency_cap',
  'recipient_quiet_hours',
  'send_window',
] as const satisfies WaitReason[];

const oneOf = <R extends string>(reasons: readonly R[], reason: string | null | undefined): R | undefined =>
  reasons.find((known) => known === reason);

/** Why a message waits, until when, and when it is sent at the earliest; null if it does not wait. */
export function whyItWaits(line: WaitingLine | NoLine, message: WaitingMessage, now: Date): Wait | null {
  const { status = 'pending', fallbackAt = null, scheduledAt } = message;
  const wait = (reason: WaitReason, until: Date | null = null): Wait => ({
    reason,
    until,
    scheduledAt,
    moved: null,
  });
  if (status === 'sending') {
    const answerBy = message.answerBy && message.answerBy > now ? message.answerBy : null;
    if (line.id !== null && isFailing(line)) return wait(failureOf(line), answerBy);
    return answerBy ? wait('carrier_answer', answerBy) : wait('carrier_outcome');
  }
  if (fallbackAt !== null) {
    const stop = workspaceStop(line) ?? stopOfSms(line);
    if (stop) return wait(stop);
    if (fallbackAt <= now) return { ...wait('fallback_sms'), ...changeOf(line, now) };
    return wait(
      oneOf(['recipient_quiet_hours', 'send_window'], message.holdReason) ?? 'fallback_sms',
      fallbackAt,
    );
  }
  if (status !== 'pending' && status !== 'scheduled') return null;

  const scheduled = earliestTime(line, message, now);
  const stop = workspaceStop(line) ?? stopOutsideLine(message) ?? stopOfLine(line, message);
  if (stop !== null || line.id === null) return { ...wait(stop ?? 'no_line'), scheduledAt: scheduled };
  if (scheduledAt > now) return whileLater(message, scheduled, now);
  return message.smsOnly ? whileSmsIsDue(line, message, now) : whileDue(line, message, now);
}

/** Why a workspace sends nothing on any line, and no SMS; null if it may send. */
export function workspaceStop({
  suspended,
  pastDue,
}: Pick<PacedLine, 'suspended' | 'pastDue'>): 'workspace_suspended' | 'subscription_past_due' | null {
  if (suspended) return 'workspace_suspended';
  return pastDue ? 'subscription_past_due' : null;
}

function stopOutsideLine({
  optedOut,
  campaign = null,
  unqueued,
  holdReason,
}: WaitingMessage): WaitReason | null {
  if (optedOut) return 'recipient_opted_out';
  if (campaign === 'paused') return 'campaign_paused';
  if (unqueued) return oneOf(UNQUEUED, holdReason) ?? 'previous_step';
  // Corrections are sent after a campaign is completed.
  return campaign === 'draft' || campaign === 'archived' ? 'campaign_inactive' : null;
}

function stopOfLine(line: WaitingLine | NoLine, { smsOnly }: WaitingMessage): WaitReason | null {
  if (line.id === null) return 'no_line';
  return smsOnly ? stopOfSms(line) : whyLineIsStopped(line);
}

/** A line's SMS besides its queue, which do not use it, wait only while somebody has paused it. */
const stopOfSms = (line: WaitingLine | NoLine): LineReason | null =>
  line.id !== null && line.paused ? 'line_paused' : null;

/** Why the line sends nothing until somebody changes that, which also holds messages for later; null if it may send. */
function whyLineIsStopped({
  provisioning = 'active',
  unconnected,
  paused,
  active,
}: PacedLine): LineReason | null {
  if (provisioning === 'awaiting_payment') return 'payment_missing';
  if (provisioning === 'failed' || provisioning === 'canceled') return 'line_failed';
  if (unconnected) return 'line_not_connected';
  if (provisioning === 'provisioning') return 'line_provisioning';
  if (paused) return 'line_paused';
  return active ? null : 'line_inactive';
}

/** Why a line sends none of its messages that are due, except for its gap; null if it may send. */
export function whyLineWaits(line: PacedLine, now: Date): LineWait | null {
  const stop = workspaceStop(line) ?? whyLineIsStopped(line);
  if (stop) return { reason: stop, until: null };
  if (line.down) return { reason: 'line_down', until: null };
  const { circuit } = line;
  if (circuit?.state === 'open' && circuit.until > now)
    return { reason: failureOf(line), until: circuit.until };
  return null;
}

/** Why the line sends nothing until something other than time changes that; null if it sends, or will after a pause. */
export function stopOf(line: PacedLine, now: Date): LineReason | null {
  const wait = whyLineWaits(line, now);
  return wait?.until === null ? wait.reason : null;
}

/** Whether the last call for the line failed. */
export const isFailing = ({ circuit }: PacedLine): boolean =>
  circuit !== undefined && (circuit.state !== 'closed' || circuit.failing === true);

/** Why nothing is sent while the carrier accepts nothing. */
export const failureOf = ({ lastFailure = null }: PacedLine): 'carrier_pause' | 'credentials_refused' =>
  lastFailure !== null && credentialsRefusal(lastFailure) !== null ? 'credentials_refused' : 'carrier_pause';

/** A message for later is sent when its recipient is awake and its window is open. */
function earliestTime(line: WaitingLine | NoLine, message: WaitingMessage, now: Date): Date {
  const { scheduledAt, unqueued } = message;
  if (line.id === null || unqueued || scheduledAt <= now) return scheduledAt;
  return clamp(timesOf(line, rulesOf(message)), scheduledAt);
}

function whileLater(message: WaitingMessage, until: Date, now: Date): Wait {
  const { scheduledAt, holdReason, window } = message;
  const isAsleep = until > scheduledAt && clamp({ window }, scheduledAt) <= scheduledAt;
  // Without a reason, it was accepted while its window was closed.
  const awaitsWindow = window && awaitsOpening(window, until, now);
  const reason = isAsleep
    ? 'recipient_quiet_hours'
    : (oneOf(MOVED, holdReason) ?? (awaitsWindow ? 'send_window' : 'scheduled'));
  return { reason, until, scheduledAt: until, moved: null };
}

/** It is not paced, but waits for its window and the end of the quiet hours. */
function whileSmsIsDue(line: WaitingLine, message: WaitingMessage, now: Date): Wait {
  const { scheduledAt } = message;
  const held = heldOutside(line, message, now);
  if (held) return { reason: held.reason, until: held.to, scheduledAt: held.to, moved: null };
  if (line.unserved) return { reason: 'worker_unavailable', until: null, scheduledAt, moved: null };
  return { reason: 'scheduled', until: null, ...changeOf(line, now), scheduledAt, moved: null };
}

function whileDue(line: WaitingLine, message: WaitingMessage, now: Date): Wait {
  const { scheduledAt } = message;
  const standstill = whyLineWaits(line, now);
  const moved = standstill ? null : movedBy(line, message, now);
  if (moved && moved.to > now) return { reason: moved.reason, until: moved.to, scheduledAt: moved.to, moved };
  const shown = { scheduledAt: moved?.to ?? scheduledAt, moved };
  if (line.unserved) return { reason: 'worker_unavailable', until: null, ...shown };
  return { ...(standstill ?? pauseOf(line, now) ?? { reason: 'scheduled', until: null }), ...shown };
}

/** While a line is changed, it sends nothing, no SMS either. */
function changeOf(line: WaitingLine | NoLine, now: Date): LineWait | null {
  const changingUntil = line.id === null ? null : (line.changingUntil ?? null);
  return changingUntil !== null && changingUntil > now
    ? { reason: 'line_changing', until: changingUntil }
    : null;
}

/** The pause of a line that otherwise sends its next message. */
function pauseOf(line: WaitingLine, now: Date): LineWait | null {
  // Of those that are due, one is tried.
  if (line.circuit?.state === 'trial') return { reason: failureOf(line), until: now };
  const change = changeOf(line, now);
  if (change) return change;
  const gapEnd = endOfGap(line, line.lastSentAt);
  return gapEnd !== null && gapEnd > now ? { reason: 'line_gap', until: gapEnd } : null;
}

/**
 * Why the line sends nothing at all, or opens no conversations, for the records of holds. The pauses of a carrier that accepts nothing
 * count as one, including the attempts in between.
 */
export function reasonToRecord(line: PacedLine, now: Date): LineReason | null {
  const wait = whyLineWaits(line, now);
  const reason = wait?.reason ?? (line.circuit?.state === 'trial' ? 'carrier_pause' : null);
  if (reason !== null) return reason === 'credentials_refused' ? 'carrier_pause' : reason;
  return line.restsUntil && line.restsUntil > now ? 'line_resting' : null;
}
