import { z } from 'zod';
import type { SendWindow } from '#domain/sending/send-window.ts';

/** The columns of a message's send window. */
export const MessageWindow = z.object({
  windowTimezone: z.string().nullable(),
  windowStart: z.string().nullable(),
  windowEnd: z.string().nullable(),
  windowDays: z.array(z.int()).nullable(),
});

/** Returns `{window}`, or `{}` without one, to be spread. */
export function sendWindow({
  windowTimezone,
  windowStart,
  windowEnd,
  windowDays,
}: z.infer<typeof MessageWindow>): { window?: SendWindow } {
  if (windowTimezone === null) return {};
  return {
    window: {
      timezone: windowTimezone,
      ...(windowStart !== null && { start: windowStart }),
      ...(windowEnd !== null && { end: windowEnd }),
      ...(windowDays !== null && { days: windowDays }),
    },
  };
}
