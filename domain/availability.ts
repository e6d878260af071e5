import { z } from 'zod';
import { Id } from './ids.ts';

/** Checks a line may make in a local day, apart from what it sends. */
export const DAILY_CHECKS_PER_LINE = 70;
/** How long a positive answer is believed. */
export const POSITIVE_ANSWER_HOURS = 24;

export const AvailabilityStatus = z
  .enum(['available', 'unavailable', 'error'])
  .meta({ id: 'AvailabilityStatus' });
export type AvailabilityStatus = z.infer<typeof AvailabilityStatus>;

export const UnverifiedReason = z.enum(['daily_quota_exhausted', 'no_healthy_line']);
export type UnverifiedReason = z.infer<typeof UnverifiedReason>;

/** What a check came to; `unverified` says why no line could be asked. */
export type AvailabilityResult =
  | { status: AvailabilityStatus; lineId: string | null; unverified?: undefined }
  | { status: 'error'; lineId: null; unverified: UnverifiedReason };

/** The fields every answer about availability has. */
export const AvailabilityAnswer = z.object({
  success: z.literal(true),
  available: z.boolean(),
  verified: z.literal(false).optional().meta({ description: 'Only when no line could be asked.' }),
  reason: UnverifiedReason.optional(),
});

export const availabilityAnswer = ({
  status,
  unverified,
}: AvailabilityResult): z.input<typeof AvailabilityAnswer> => ({
  success: true,
  available: status === 'available',
  ...(unverified && { verified: false, reason: unverified }),
});

/** A check of many leads in the background. */
export const AvailabilityJob = z.object({
  success: z.literal(true),
  status: z.enum(['running', 'completed']),
  total: z.int(),
  checked: z.int(),
  available: z.int(),
  unavailable: z.int(),
  errors: z.int(),
});

export const AvailabilityBatch = z.object({
  address: z.string().max(320).optional(),
  leadIds: z.array(Id).min(1).max(10_000).optional(),
  listId: Id.optional(),
});
