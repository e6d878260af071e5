import { z } from 'zod';
import { dayBounds, localDate, wallClock } from '../base/calendar.ts';
import { clampToWindow, type SendWindow } from './send-window.ts';
import { FEDERAL, lawfulHours, STATE_RULES } from './us-quiet-hours.ts';

/**
 * When recipients may get messages, in their own time zones. Pure functions that take the time as a parameter, for the
 * pacing rules and for what callers see of a waiting message.
 */

const TimeOfDay = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day as HH:mm')
  .meta({ example: '08:00' });

const fields = {
  enabled: z.boolean().default(false),
  start: TimeOfDay.default('08:00').meta({ description: 'Messages are sent from this time on…' }),
  end: TimeOfDay.default('21:00').meta({
    description:
      '…up to this time. An `end` at or before `start` is on the following day; equal times are the whole day.',
  }),
  law: z.enum(['none', 'us']).default('none').meta({
    description:
      "`us`: for numbers of the United States, the stricter of these hours and those of the number's state.",
  }),
};

/** The kind of a message, for quiet hours: of a campaign, from `POST /api/drip`, or any other. */
export const MessageKind = z.enum(['campaign', 'drip', 'message']);
export type MessageKind = z.infer<typeof MessageKind>;

/** The quiet hours of a workspace. */
export const QuietHours = z
  .object({ ...fields, appliesTo: z.array(MessageKind).min(1).max(3).default(['campaign']) })
  .meta({ id: 'QuietHours' });
export type QuietHours = z.output<typeof QuietHours>;

/** The quiet hours of a campaign, instead of those of its workspace. */
export const CampaignQuietHours = z.object(fields).meta({ id: 'CampaignQuietHours' });
export type CampaignQuietHours = z.output<typeof CampaignQuietHours>;

export const NO_QUIET_HOURS: QuietHours = QuietHours.parse({});

/** The settings of a workspace. */
export interface QuietPolicy {
  workspace: QuietHours;
  /** The campaigns that have their own, by id. */
  campaigns: ReadonlyMap<string, CampaignQuietHours>;
}

export const NO_QUIET_POLICY: QuietPolicy = { workspace: NO_QUIET_HOURS, campaigns: new Map() };

/** The place of a phone number, from its digits. People keep their numbers when they move. */
export interface PhonePlace {
  /** The IANA time zones of the number's area; null: unknown. */
  zones: string[] | null;
  /** A state of the United States (`US-FL`); null: none, or unknown. */
  region: string | null;
}

/** The facts about a message's recipient that quiet hours depend on. */
export interface Recipient {
  kind: MessageKind;
  campaignId: string | null;
  /** The zones in which the recipient may be; null: the workspace's. */
  zones: readonly string[] | null;
  /** The state of a number of the United States (`US-FL`). */
  region: string | null;
}

/** Whether the workspace's quiet hours apply to messages of this kind that belong to no campaign. */
export const quietHoursApplyTo = ({ workspace }: QuietPolicy, kind: MessageKind): boolean =>
  workspace.enabled && workspace.appliesTo.includes(kind);

/** The hours in which a recipient may get messages, in all `zones`. */
export interface WakingHours {
  zones: readonly string[];
  start: string;
  end: string;
  /** The state whose law also applies, `US` for only federal law; null: none. */
  law: string | null;
}

/** The quiet hours that a message keeps; undefined: none. */
export function wakingHours(
  { workspace, campaigns }: QuietPolicy,
  { kind, campaignId, zones, region }: Recipient,
  timezone: string,
): WakingHours | undefined {
  const own = campaigns.get(campaignId ?? '');
  const hours = own ?? (workspace.appliesTo.includes(kind) ? workspace : null);
  if (!hours?.enabled) return undefined;
  const law =
    hours.law === 'us' && region !== null ? (Object.hasOwn(STATE_RULES, region) ? region : 'US') : null;
  return { zones: zones ?? [timezone], start: hours.start, end: hours.end, law };
}

/** The times at which a message may be sent. */
export interface SendTimes {
  window?: SendWindow | undefined;
  quiet?: WakingHours | undefined;
}

/** Windows of a week and holidays in a row leave no longer pause. */
const MAX_DAYS_AHEAD = 16;
const DAY_MS = 86_400_000;

/** `at` if a message may be sent then, otherwise the first time at which it may; null: never. */
export function firstSendTime({ window, quiet }: SendTimes, at: Date): Date | null {
  const gates = [
    ...(window ? [(time: Date) => clampToWindow(window, time)] : []),
    ...(quiet ? gatesOf(quiet) : []),
  ];
  const end = new Date(at.getTime() + MAX_DAYS_AHEAD * DAY_MS);
  // Each gate postpones to its own opening, until all are open at the same time.
  for (let time = at; time <= end;) {
    const next = gates.reduce((postponed, gate) => gate(postponed), time);
    if (next.getTime() === time.getTime()) return time;
    time = next;
  }
  return null;
}

/** The state whose law allows nothing within these hours; null: none. */
export function lawWithoutTime({ start, end, law }: CampaignQuietHours, now: Date): string | null {
  if (law === 'none') return null;
  const regions = ['US', ...Object.keys(STATE_RULES)];
  const quiet = { zones: ['America/New_York'], start, end };
  return regions.find((region) => firstSendTime({ quiet: { ...quiet, law: region } }, now) === null) ?? null;
}

type Gate = (at: Date) => Date;

const gatesOf = ({ zones, start, end, law }: WakingHours): Gate[] =>
  zones.flatMap((timezone) => [
    (at: Date) => clampToWindow({ timezone, start, end }, at),
    ...(law === null ? [] : [(at: Date) => lawfulTime(law, timezone, at)]),
  ]);

/** `at` if the law of the state allows it, otherwise the first time at which it does, within some days. */
function lawfulTime(region: string, timezone: string, at: Date): Date {
  const rule = STATE_RULES[region] ?? FEDERAL;
  let time = at;
  for (let days = 0; days < MAX_DAYS_AHEAD; days += 1) {
    const hours = lawfulHours(rule, region, wallClock(timezone, time));
    if (hours) {
      const opening = clampToWindow({ timezone, start: hours[0], end: hours[1] }, time);
      if (localDate(timezone, opening) === localDate(timezone, time)) return opening;
    }
    time = dayBounds(timezone, time).end;
  }
  return time;
}
