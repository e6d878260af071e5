import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg, plural, t } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { dateOf, fullTimeOf, longDateOf } from '#console/lib/format.ts';

export type Forecast = ResponseOf<'POST /api/forecast'>;

/** By `holdReason`. */
const LIMITS: Record<string, MessageDescriptor> = {
  daily_new_cap: msg`limited by new conversations per day`,
  hourly_new_cap: msg`limited by new conversations per hour`,
  daily_total_cap: msg`limited by messages per day`,
  send_window: msg`limited by the hours of sending`,
  line_gap: msg`limited by the pauses between messages`,
  scheduled: msg`limited by the delays between steps`,
  recipient_quiet_hours: msg`limited by the quiet hours of recipients`,
  line_resting: msg`limited by lines that rest`,
};

/** Reasons for which a line sends nothing until somebody changes that. */
const STOPS: Record<string, MessageDescriptor> = {
  line_paused: msg`This is not sent while its lines are paused.`,
  line_down: msg`This is not sent while its lines are down.`,
  line_inactive: msg`This is not sent while its lines are switched off.`,
  line_not_connected: msg`This is not sent while its lines are not connected.`,
  subscription_past_due: msg`This is not sent while the subscription is past due.`,
  workspace_suspended: msg`This is not sent while the workspace is suspended.`,
};

const DAY_MS = 86_400_000;

/** When a campaign would be done, in a sentence; null: there is nothing to say. */
export function forecastSentence(
  { completesAt, firstStepDoneAt, limitedBy, linesFor, finishBy }: Forecast,
  zone: string,
  now = new Date(),
): string | null {
  const stop = limitedBy.map(({ reason }) => STOPS[reason]).find((text) => text !== undefined);
  if (completesAt === null && limitedBy.length === 0) return null;
  if (completesAt === null && stop) return i18n._(stop);
  if (completesAt === null) return t`This would take more than three years.`;
  const limit = limitedBy.map(({ reason }) => LIMITS[reason]).find((text) => text !== undefined);
  const clauses = [
    doneClause(firstStepDoneAt, completesAt, zone),
    finishBy && !finishBy.isPossible && lateClause(finishBy, zone),
    moreLines(linesFor, zone, now),
    limit && i18n._(limit),
  ];
  return `${clauses.filter(Boolean).join('; ')}.`;
}

/** That the deadline comes before the end; null: there is none, or it does not. @param completesAt null: the end is too far away. */
export function tooEarly(finishBy: string | null, completesAt: string | null, zone: string): string | null {
  if (finishBy === null || (completesAt !== null && completesAt <= finishBy)) return null;
  const deadline = fullTimeOf(finishBy, zone);
  return t`It is to be finished by ${deadline}: that is too early.`;
}

function doneClause(firstStepDoneAt: string | null, completesAt: string, zone: string): string {
  const end = dateOf(completesAt, zone);
  if (firstStepDoneAt === null || dateOf(firstStepDoneAt, zone) === end) {
    const day = longDateOf(completesAt, zone);
    return t`All done on ${day}`;
  }
  const day = longDateOf(firstStepDoneAt, zone);
  return t`First step done on ${day}, all by ${end}`;
}

function lateClause({ at, lines }: NonNullable<Forecast['finishBy']>, zone: string): string {
  const end = dateOf(at, zone);
  return lines === null
    ? t`too late for ${end}`
    : t`too late for ${end}, for which it takes ${plural(lines, { one: '# line', other: '# lines' })}`;
}

/** The effect of the smallest number of additional lines that saves at least a day. */
function moreLines(linesFor: Forecast['linesFor'], zone: string, now: Date): string | null {
  const [current, ...others] = linesFor;
  const better =
    current && others.findLast(({ days, lines }) => days < current.days && lines <= current.lines + 2);
  if (!current || !better) return null;
  const more = better.lines - current.lines;
  const date = dateOf(new Date(now.getTime() + (better.days - 1) * DAY_MS), zone);
  return t`${plural(more, { one: 'one more line', 2: 'two more lines', other: '# more lines' })} would make it ${date}`;
}
