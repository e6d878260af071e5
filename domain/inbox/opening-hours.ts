import { z } from 'zod';
import { localDate, wallClock } from '../base/calendar.ts';

const TimeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day as HH:mm');

/** When somebody of a workspace is there, in its time zone. */
export const OpeningHours = z
  .object({
    hours: z
      .array(
        z.object({
          days: z.array(z.int().min(0).max(6)).min(1).max(7).meta({ description: '0 is Sunday.' }),
          start: TimeOfDay.meta({ example: '09:00' }),
          end: TimeOfDay.meta({
            description:
              'An `end` at or before `start` is on the following day; equal times are the whole day.',
            example: '17:00',
          }),
        }),
      )
      .max(50)
      .default([])
      .meta({ description: 'Empty: always open.' }),
    closedOn: z
      .array(z.iso.date())
      .max(366)
      .default([])
      .meta({ description: 'Days on which nobody is there, such as holidays.' }),
  })
  .meta({ id: 'OpeningHours' });
export type OpeningHours = z.output<typeof OpeningHours>;

export const ALWAYS_OPEN: OpeningHours = { hours: [], closedOn: [] };

const DAY_MS = 86_400_000;

/** Whether somebody is there at a time. Hours that begin on a day without closing belong to it until they end. */
export function isOpen({ hours, closedOn }: OpeningHours, timezone: string, at: Date): boolean {
  const wall = wallClock(timezone, at);
  const time = wall.toISOString().slice(11, 16);
  const today = { day: wall.getUTCDay(), date: localDate(timezone, at) };
  const before = new Date(wall.getTime() - DAY_MS);
  const yesterday = { day: before.getUTCDay(), date: before.toISOString().slice(0, 10) };
  const opensOn = ({ day, date }: typeof today, days: readonly number[]): boolean =>
    days.includes(day) && !closedOn.includes(date);
  if (hours.length === 0) return !closedOn.includes(today.date);
  return hours.some(({ days, start, end }) =>
    start < end
      ? opensOn(today, days) && time >= start && time < end
      : (opensOn(today, days) && time >= start) || (opensOn(yesterday, days) && time < end),
  );
}
