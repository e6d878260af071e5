import { hash } from 'node:crypto';
import { z } from 'zod';
import {
  DRIP_SOURCE,
  acceptedMessageOf,
  type IntakeContext,
  type AcceptedMessage,
  recipientHours,
} from './accepted-message.ts';
import type { DripInput } from './message.ts';
import { type QuietUntil, quietUntil } from './warnings.ts';

/** The response of `POST /api/drip`. */
export const DripAcknowledgement = z
  .object({
    status: z.literal('queued'),
    correlationId: z.string(),
    scheduledDate: z.iso.datetime(),
    jitterMs: z.int(),
  })
  .meta({ id: 'DripAcknowledgement' });
export type DripAcknowledgement = z.infer<typeof DripAcknowledgement>;

/** The part that the responses to a drip and to its duplicates share. */
export type EarlierAnswer = Pick<DripAcknowledgement, 'scheduledDate' | 'jitterMs'>;

export interface Drip {
  message: AcceptedMessage;
  /** Drips with the same fingerprint are one message. 16 bytes in hexadecimal. */
  fingerprint: string;
  correlationId: string;
  answer: EarlierAnswer;
  /** Until when quiet hours postpone it; null: they do not. */
  quietUntil: QuietUntil | null;
}

export const acknowledge = ({ correlationId }: Drip, answer: EarlierAnswer): DripAcknowledgement => ({
  status: 'queued',
  correlationId,
  ...answer,
});

/** A drip is scheduled this long after its acceptance, plus a jitter of up to `spreadMs`. */
const DELAY = { minMs: 30_000, spreadMs: 300_000 };

/**
 * Drafts the message of a drip, at its jittered time, moved into its send window.
 * @param random from 0 up to but not including 1.
 * @throws Refusal
 */
export function dripOf(
  input: DripInput,
  context: IntakeContext,
  {
    correlationId,
    userId,
    now,
    random,
  }: { correlationId: string; userId: string | null; now: Date; random: number },
): Drip {
  const jitterMs = Math.floor(random * DELAY.spreadMs);
  const schedule = new Date(now.getTime() + DELAY.minMs + jitterMs);
  const message = acceptedMessageOf({ ...input, correlationId }, context, {
    now,
    source: DRIP_SOURCE,
    schedule,
    userId,
  });
  return {
    message,
    fingerprint: fingerprintOf(message),
    correlationId,
    answer: { scheduledDate: message.scheduledAt, jitterMs },
    quietUntil: quietUntilOf(message, context),
  };
}

function quietUntilOf(message: AcceptedMessage, context: IntakeContext): QuietUntil | null {
  const quiet = recipientHours(message, context);
  if (!quiet) return null;
  const scheduledAt = new Date(message.scheduledAt);
  const answersUntil = context.answersUntil.get(message.address);
  if (answersUntil && answersUntil > scheduledAt) return null;
  return quietUntil({ window: message.window ?? undefined, quiet }, scheduledAt);
}

/** The recipient and the body, including attachments. */
function fingerprintOf({ address, body, attachmentUrls }: AcceptedMessage): string {
  return hash('sha256', JSON.stringify([address, body, attachmentUrls]), 'hex').slice(0, 32);
}

/**
 * Finds the duplicates among drips: of earlier drips, and of earlier ones in this batch.
 * @param earlier the earlier answers, by fingerprint.
 * @returns the answers of the first, by duplicate.
 */
export function findDuplicates(
  drips: readonly Drip[],
  earlier: ReadonlyMap<string, EarlierAnswer>,
): Map<Drip, EarlierAnswer> {
  const originals = new Map(earlier);
  const duplicates = new Map<Drip, EarlierAnswer>();
  for (const drip of drips) {
    const original = originals.get(drip.fingerprint);
    if (original) duplicates.set(drip, original);
    else originals.set(drip.fingerprint, drip.answer);
  }
  return duplicates;
}
