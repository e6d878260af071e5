import { createHash } from 'node:crypto';
import { z } from 'zod';

/** How the carrier misleads whoever sends a message. */
export const FAULTS = [
  /** Accepts it, and closes the connection without a response. */
  'lose_response',
  /** Accepts it, and responds with an internal error. */
  'error_after_success',
  /** Accepts it, and responds after five seconds. */
  'respond_late',
  /** Accepts it, and loses it: nothing is ever reported about it. */
  'lose_message',
  /** Reports everything several times. */
  'report_twice',
  /** Reports that it was read before it reports that it was delivered. */
  'report_reversed',
] as const;
export type Fault = (typeof FAULTS)[number];

/** `POST /simulated/carrier/faults`: the share of texts with a fault; the seed decides which and what. */
export const FaultSettings = z.object({ share: z.number().min(0).max(1), seed: z.string().max(100) });
export type FaultSettings = z.infer<typeof FaultSettings>;

/**
 * @returns the fault of a message, null if there is none. It depends on the text, because ids differ from run to run:
 *   with the same seed, the same messages have faults.
 */
export function faultOf({ share, seed }: FaultSettings, text: string): Fault | null {
  const digest = createHash('sha256').update(`${seed} ${text}`).digest();
  if (digest.readUInt32BE(0) / 2 ** 32 >= share) return null;
  return FAULTS[digest.readUInt32BE(4) % FAULTS.length] ?? null;
}
