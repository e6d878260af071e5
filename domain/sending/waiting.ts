import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { wakingHours } from './quiet-hours.ts';
import { textOf } from './wait-reasons.ts';
import { type NoLine, type WaitingLine, type WaitingMessage, whyItWaits } from './why-it-waits.ts';

/** Why a message has not been sent yet, in words for a person. */
export const WaitingFor = z
  .object({
    reason: z.string().meta({ description: 'A `holdReason`, for example `daily_new_cap`.' }),
    until: z.iso.datetime().nullable().meta({ description: 'null: until something changes.' }),
    text: z.string().meta({ description: 'One or two sentences for a person.' }),
    data: z.object({ messageId: Id }).optional().meta({
      description:
        'With `previous_step`: the message of the first unsent step, whose timeline says what it waits for.',
    }),
  })
  .meta({ id: 'WaitingFor' });
export type WaitingFor = z.infer<typeof WaitingFor>;

/** A message that may wait, with its line. */
export interface WaitFacts {
  line: WaitingLine | NoLine;
  message: WaitingMessage;
}

/** What is said about a wait, besides its reason. */
export interface SaidOfWait {
  /** The workspace's time zone, in which times are shown. */
  timezone: string;
  /** The message of the first unsent step before this one. */
  previousStep: string | null;
  /** The carrier's reason for the last failed call for this message, or else for its line. */
  lastFailure: string | null;
  /** The number of messages of the line that come before this one. */
  ahead: number;
}

/** Why a message waits, and until when; null if it does not wait. */
export function waitingFor(
  { line, message }: WaitFacts,
  { timezone, previousStep, lastFailure, ahead }: SaidOfWait,
  now: Date,
): WaitingFor | null {
  const wait = whyItWaits(line, message, now);
  if (!wait) return null;
  const { reason, until } = wait;
  const { window, recipient, campaign = null, status } = message;
  const own = line.id === null ? null : line;
  const text = textOf(reason, {
    now,
    until: until ?? now,
    timezone,
    line: own,
    window,
    quiet: own?.quiet && recipient && wakingHours(own.quiet, recipient, own.timezone),
    campaign,
    isSending: status === 'sending',
    lastFailure,
    ahead,
    unserved: own?.unserved ?? '',
  });
  return {
    reason,
    until: until?.toISOString() ?? null,
    text,
    ...(reason === 'previous_step' && previousStep !== null && { data: { messageId: previousStep } }),
  };
}
