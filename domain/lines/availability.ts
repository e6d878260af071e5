import { z } from 'zod';
import { Id } from '../base/ids.ts';

/** Checks per line and local day; sends do not count. */
export const DAILY_CHECKS_PER_LINE = 70;
/** How long an `available` result is reused. */
export const AVAILABLE_CACHE_HOURS = 24;

export const AvailabilityStatus = z
  .enum(['available', 'unavailable', 'error'])
  .meta({ id: 'AvailabilityStatus' });
export type AvailabilityStatus = z.infer<typeof AvailabilityStatus>;

export const UnverifiedReason = z.enum(['daily_quota_exhausted', 'no_healthy_line']);
export type UnverifiedReason = z.infer<typeof UnverifiedReason>;

/** `unverified` is the reason why no line could run the check. */
export type AvailabilityResult =
  | { status: AvailabilityStatus; lineId: string | null; unverified?: undefined }
  | { status: 'error'; lineId: null; unverified: UnverifiedReason };

/** The fields common to all availability responses. */
export const AvailabilityResponse = z.object({
  success: z.literal(true),
  available: z.boolean(),
  verified: z
    .literal(false)
    .optional()
    .meta({ description: 'Present only if the check had no result. Then `available: false` means unknown.' }),
  reason: UnverifiedReason.optional(),
});

export const toAvailabilityResponse = ({
  status,
  unverified,
}: AvailabilityResult): z.input<typeof AvailabilityResponse> => ({
  success: true,
  available: status === 'available',
  ...(status === 'error' && { verified: false }),
  ...(unverified && { reason: unverified }),
});

/** A background check of many leads. */
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
