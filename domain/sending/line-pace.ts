import { z } from 'zod';
import { hourBounds } from '../base/calendar.ts';
import { Id } from '../base/ids.ts';
import { dailyNewCap, hourlyNewCap, type LimitedLine, warmUpCap } from './line-limits.ts';
import { WaitingFor } from './waiting.ts';

const Cap = z.object({ used: z.int(), limit: z.int() });

/** More messages than these are not counted. */
export const MAX_WAITING = 1000;

/** How much of its caps a line has used, and what it sends next, as the API returns it. */
export const LinePace = z
  .object({
    dailyTotal: Cap,
    dailyNew: Cap.meta({ description: 'New conversations today; the limit includes the warm-up.' }),
    hourlyNew: Cap,
    warmup: z
      .object({
        startedAt: z.iso.datetime(),
        limits: z.array(z.int()).meta({
          description: 'The cap of new conversations for each day of the warm-up, at most 60 days.',
        }),
      })
      .nullable(),
    waiting: z.int().meta({ description: `Messages in its queue; ${MAX_WAITING} at most.` }),
    next: z
      .object({
        messageId: Id,
        recipient: z.string(),
        scheduledDate: z.iso.datetime().meta({ description: 'The earliest time at which it is sent.' }),
        waitingFor: WaitingFor.nullable(),
      })
      .nullable(),
  })
  .meta({ id: 'LinePace' });
export type LinePace = z.infer<typeof LinePace>;

/** What was sent since the beginning of the local day and hour. */
interface Usage {
  sentToday: number;
  newToday: number;
  newThisHour: number;
}

interface Limited extends LimitedLine {
  dailyTotal: number;
}

/** The caps of a line at `now`, and how its warm-up raises them. */
export function capsOf(line: Limited, { sentToday, newToday, newThisHour }: Usage, now: Date) {
  return {
    dailyTotal: { used: sentToday, limit: line.dailyTotal },
    dailyNew: { used: newToday, limit: dailyNewCap(line, now) },
    hourlyNew: { used: newThisHour, limit: hourlyNewCap(line, hourBounds(line.timezone, now).start) },
    warmup: warmup(line, now),
  };
}

const WARM_UP_DAYS = 60;
const DAY_MS = 86_400_000;

/** null once it has ended. */
function warmup(line: LimitedLine, now: Date): LinePace['warmup'] {
  const { warmupStartedAt: startedAt } = line;
  if (!startedAt || warmUpCap(line, now) >= line.dailyNew) return null;
  const limits: number[] = [];
  for (let day = 0; day < WARM_UP_DAYS && limits.at(-1) !== line.dailyNew; day += 1)
    limits.push(warmUpCap(line, new Date(startedAt.getTime() + day * DAY_MS)));
  return { startedAt: startedAt.toISOString(), limits };
}
