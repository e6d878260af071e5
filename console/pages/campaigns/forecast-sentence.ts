import type { ResponseOf } from '#console/api/routes.ts';
import { dateOf, longDateOf } from '#console/lib/format.ts';

export type Forecast = ResponseOf<'POST /api/forecast'>;

/** By `holdReason`. */
const LIMITS: Record<string, string> = {
  daily_new_cap: 'new conversations per day',
  hourly_new_cap: 'new conversations per hour',
  daily_total_cap: 'messages per day',
  send_window: 'the hours of sending',
  line_gap: 'the pauses between messages',
  scheduled: 'the delays between steps',
  recipient_quiet_hours: 'the quiet hours of recipients',
  line_resting: 'lines that rest',
};

const WORDS = ['', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const DAY_MS = 86_400_000;

/** When a campaign would be done, in a sentence; null: there is nothing to say. */
export function forecastSentence(
  { completesAt, firstStepDoneAt, limitedBy, linesFor }: Forecast,
  zone: string,
  now = new Date(),
): string | null {
  if (completesAt === null) return 'This would take more than three years.';
  const first = firstStepDoneAt !== null && dateOf(firstStepDoneAt, zone) !== dateOf(completesAt, zone);
  const done = first
    ? `First step done on ${longDateOf(firstStepDoneAt, zone)}, all by ${dateOf(completesAt, zone)}`
    : `All done on ${longDateOf(completesAt, zone)}`;
  const limit = limitedBy.find(({ reason }) => LIMITS[reason] !== undefined);
  const limited = limit ? `; limited by ${LIMITS[limit.reason]}` : '';
  return `${done}${moreLines(linesFor, zone, now)}${limited}.`;
}

/** What the fewest further lines that save at least a day would do. */
function moreLines(linesFor: Forecast['linesFor'], zone: string, now: Date): string {
  const [current, ...others] = linesFor;
  const better =
    current && others.findLast(({ days, lines }) => days < current.days && lines <= current.lines + 2);
  if (!current || !better) return '';
  const more = better.lines - current.lines;
  const date = dateOf(new Date(now.getTime() + (better.days - 1) * DAY_MS), zone);
  return `; ${WORDS[more] ?? more} more ${more === 1 ? 'line' : 'lines'} would make it ${date}`;
}
