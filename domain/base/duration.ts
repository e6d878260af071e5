import { z } from 'zod';

/** A time span in days, hours and minutes, which add up. Another unit is refused: without it, the span would be nothing. */
export const Duration = z.strictObject({
  days: z.int().min(0).max(365).optional(),
  hours: z.int().min(0).max(8760).optional(),
  minutes: z.int().min(0).max(525_600).optional(),
});
export type Duration = z.infer<typeof Duration>;

const MINUTE_MS = 60_000;

/** In milliseconds; days have 24 hours. */
export const durationMs = ({ days = 0, hours = 0, minutes = 0 }: Duration): number =>
  ((days * 24 + hours) * 60 + minutes) * MINUTE_MS;
