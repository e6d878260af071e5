/**
 * When people in the United States may be sent unsolicited marketing, by federal law and by the law of the state of their
 * number. It is data from the sources named, not legal advice. The laws mostly speak of calls; a message is taken for one.
 * Where a source allows several readings, the strictest is taken.
 */

/** From the first time of day up to but not including the second. */
type Hours = readonly [start: string, end: string];

export interface StateRule {
  weekdays: Hours;
  /** null: not at all. */
  saturdays: Hours | null;
  sundays: Hours | null;
  /** `closed`: nothing on legal holidays. */
  holidays: 'open' | 'closed';
  /** The law. */
  source: string;
  /** Where it was looked up. */
  url: string;
  /** When it was looked up. */
  checked: string;
  /** `statute`: its text was read. `summary`: a published comparison of state laws was read. */
  basis: 'statute' | 'summary';
}

const CHECKED = '2026-11-24';
/** Dated 1 November 2025. */
const COMPARISON = 'https://www.dropcowboy.com/state-compliance';
/** Dated 8 April 2026. */
const TEXTING_COMPARISON = 'https://usestello.com/compliance';

const daily = (hours: Hours) =>
  ({ weekdays: hours, saturdays: hours, sundays: hours, holidays: 'open' }) as const;
const notOnSundays = (hours: Hours, holidays: StateRule['holidays']) =>
  ({ weekdays: hours, saturdays: hours, sundays: null, holidays }) as const;
const read = (source: string, url: string) => ({ source, url, checked: CHECKED, basis: 'statute' }) as const;
const summarized = (source: string, url = COMPARISON) =>
  ({ source, url, checked: CHECKED, basis: 'summary' }) as const;

/** In all states without a row of their own. */
export const FEDERAL: StateRule = {
  ...daily(['08:00', '21:00']),
  ...summarized('47 CFR 64.1200(c)(1) (TCPA)', TEXTING_COMPARISON),
};

/** By region. */
export const STATE_RULES: Readonly<Record<string, StateRule>> = {
  'US-AL': {
    ...notOnSundays(['08:00', '20:00'], 'closed'),
    ...summarized('Ala. Code 8-19A; Ala. Admin. Code r. 770-X-5-.17', TEXTING_COMPARISON),
  },
  'US-CA': {
    ...daily(['09:00', '21:00']),
    ...summarized('Cal. Pub. Util. Code 2872(c), on automatic dialing', TEXTING_COMPARISON),
  },
  'US-CT': {
    ...daily(['09:00', '20:00']),
    ...summarized('Conn. Gen. Stat. 42-288a, as amended by SB 1058 of 2023', TEXTING_COMPARISON),
  },
  'US-FL': {
    ...daily(['08:00', '20:00']),
    ...read(
      'Fla. Stat. 501.616(6)(a)',
      'https://www.lawserver.com/law/state/florida/statutes/florida_statutes_501-616',
    ),
  },
  'US-IL': {
    ...daily(['09:00', '21:00']),
    ...summarized('815 ILCS 305; 815 ILCS 413/15', TEXTING_COMPARISON),
  },
  'US-KY': { ...daily(['10:00', '21:00']), ...summarized('KRS 367.46955(3)', TEXTING_COMPARISON) },
  'US-LA': {
    ...notOnSundays(['08:00', '20:00'], 'closed'),
    ...summarized('La. R.S. 45:844.31; orders of the Louisiana Public Service Commission'),
  },
  'US-MA': {
    ...daily(['08:00', '20:00']),
    ...summarized('Mass. Gen. Laws ch. 159C sec. 3; 201 CMR 12.00', TEXTING_COMPARISON),
  },
  'US-MD': {
    ...daily(['08:00', '20:00']),
    ...summarized('Md. Stop the Spam Calls Act (SB 90 of 2023)', TEXTING_COMPARISON),
  },
  'US-MI': { ...daily(['09:00', '21:00']), ...summarized('MCL 750.540e', TEXTING_COMPARISON) },
  'US-MN': { ...daily(['09:00', '21:00']), ...summarized('Minn. Stat. 325E.30', TEXTING_COMPARISON) },
  'US-MS': {
    ...notOnSundays(['08:00', '20:00'], 'closed'),
    ...summarized('Rules of the Mississippi Public Service Commission (Miss. Code 77-3)'),
  },
  'US-NJ': {
    ...daily(['08:00', '20:00']),
    ...summarized(
      'New Jersey telemarketing law, as of 2024',
      'https://support.referrizer.com/en/category/text-campaigns/article/tcpa-quiet-hours-and-state-specific-rules-for-text-campaigns',
    ),
  },
  'US-NM': { ...daily(['09:00', '21:00']), ...summarized('N.M. Stat. 57-12-22') },
  'US-NV': { ...daily(['09:00', '20:00']), ...summarized('Nevada telephone solicitation law (NRS 599B)') },
  'US-OK': {
    ...daily(['08:00', '20:00']),
    ...summarized('Okla. Stat. tit. 15, 775C.4 (OTSA)'),
  },
  'US-PA': {
    weekdays: ['08:00', '21:00'],
    saturdays: ['08:00', '21:00'],
    sundays: ['08:00', '21:00'],
    holidays: 'closed',
    ...summarized('73 P.S. 2241 ff.'),
  },
  'US-RI': {
    weekdays: ['09:00', '18:00'],
    saturdays: ['10:00', '17:00'],
    sundays: null,
    holidays: 'closed',
    ...summarized(
      'R.I. Gen. Laws 5-61-2(9), 5-61-3.6',
      'https://support.referrizer.com/en/category/text-campaigns/article/tcpa-quiet-hours-and-state-specific-rules-for-text-campaigns',
    ),
  },
  'US-SD': {
    weekdays: ['09:00', '21:00'],
    saturdays: null,
    sundays: null,
    holidays: 'open',
    ...read(
      'S.D. Codified Laws 37-30-28, on automatic dialing',
      'https://lexace.ai/us/statute/south-dakota/37-30-28',
    ),
  },
  'US-TX': {
    weekdays: ['09:00', '21:00'],
    saturdays: ['09:00', '21:00'],
    sundays: ['12:00', '21:00'],
    holidays: 'open',
    ...summarized(
      'Tex. Bus. & Com. Code 301.051, for texts by SB 140 of 2025',
      'https://support.referrizer.com/en/category/text-campaigns/article/tcpa-quiet-hours-and-state-specific-rules-for-text-campaigns',
    ),
  },
  'US-UT': {
    ...notOnSundays(['08:00', '21:00'], 'closed'),
    ...read(
      'Utah Code 13-25a-103(3)',
      'https://codes.findlaw.com/ut/title-13-commerce-and-trade/ut-code-sect-13-25a-103/',
    ),
  },
  'US-WA': {
    ...daily(['08:00', '20:00']),
    ...read('RCW 19.158.040(2)', 'https://app.leg.wa.gov/RCW/default.aspx?cite=19.158.040'),
  },
};

/** The names of the regions whose laws these are. */
const NAMES: Readonly<Record<string, string>> = {
  US: 'the United States',
  'US-AL': 'Alabama',
  'US-CA': 'California',
  'US-CT': 'Connecticut',
  'US-FL': 'Florida',
  'US-IL': 'Illinois',
  'US-KY': 'Kentucky',
  'US-LA': 'Louisiana',
  'US-MA': 'Massachusetts',
  'US-MD': 'Maryland',
  'US-MI': 'Michigan',
  'US-MN': 'Minnesota',
  'US-MS': 'Mississippi',
  'US-NJ': 'New Jersey',
  'US-NM': 'New Mexico',
  'US-NV': 'Nevada',
  'US-OK': 'Oklahoma',
  'US-PA': 'Pennsylvania',
  'US-RI': 'Rhode Island',
  'US-SD': 'South Dakota',
  'US-TX': 'Texas',
  'US-UT': 'Utah',
  'US-WA': 'Washington State',
};

/** The name of a region with a law of its own, in sentences for people. */
export const lawName = (region: string): string => NAMES[region] ?? region;

/** The hours of a state's law on a local date; null: none. @param date a date whose UTC fields are the local ones. */
export function lawfulHours(rule: StateRule, region: string | null, date: Date): Hours | null {
  if (rule.holidays === 'closed' && isHoliday(region, date)) return null;
  const day = date.getUTCDay();
  if (day === 0) return rule.sundays;
  return day === 6 ? rule.saturdays : rule.weekdays;
}

type Holiday = readonly [month: number, day: number] | readonly [month: number, weekday: number, nth: number];

/** Legal holidays of the United States (5 U.S.C. 6103): dates, or the nth weekday of a month (-1: the last). */
const LEGAL_HOLIDAYS: readonly Holiday[] = [
  [1, 1],
  [1, 1, 3], // Martin Luther King's birthday
  [2, 1, 3], // Washington's birthday
  [5, 1, -1], // Memorial Day
  [6, 19],
  [7, 4],
  [9, 1, 1], // Labor Day
  [10, 1, 2], // Columbus Day
  [11, 11],
  [11, 4, 4], // Thanksgiving
  [12, 25],
];

/** Holidays of single states. */
const STATE_HOLIDAYS: Readonly<Record<string, readonly Holiday[]>> = {
  'US-AL': [
    [4, 1, 4], // Confederate Memorial Day
    [6, 1, 1], // Jefferson Davis's birthday
  ],
  'US-LA': [[11, 5, 4]], // Acadian Day, after Thanksgiving
  'US-MS': [[4, 1, -1]], // Confederate Memorial Day
  'US-RI': [[8, 1, 2]], // Victory Day
  'US-UT': [[7, 24]], // Pioneer Day
};

/** Days from Easter: Mardi Gras and Good Friday. */
const OF_EASTER: Readonly<Record<string, readonly number[]>> = { 'US-LA': [-47, -2] };

const DAY_MS = 86_400_000;

/** A holiday on a Sunday is observed on the Monday after it as well, one on a Saturday on the Friday before. */
function isHoliday(region: string | null, date: Date): boolean {
  const year = date.getUTCFullYear();
  const today = Date.UTC(year, date.getUTCMonth(), date.getUTCDate());
  const holidays = [...LEGAL_HOLIDAYS, ...(STATE_HOLIDAYS[region ?? ''] ?? [])];
  // A New Year's Day on a Saturday is observed in the year before.
  const days = [year, year + 1].flatMap((of) => holidays.flatMap((holiday) => observed(of, holiday)));
  const moving = (OF_EASTER[region ?? ''] ?? []).map((after) => easter(year) + after * DAY_MS);
  return days.includes(today) || moving.includes(today);
}

function observed(year: number, [month, day, nth]: Holiday): number[] {
  if (nth !== undefined) return [nthWeekday(year, month, day, nth)];
  const at = Date.UTC(year, month - 1, day);
  const weekday = new Date(at).getUTCDay();
  if (weekday === 0) return [at, at + DAY_MS];
  return weekday === 6 ? [at, at - DAY_MS] : [at];
}

function nthWeekday(year: number, month: number, weekday: number, nth: number): number {
  if (nth < 0) {
    const last = new Date(Date.UTC(year, month, 0));
    return last.getTime() - ((last.getUTCDay() - weekday + 7) % 7) * DAY_MS;
  }
  const first = new Date(Date.UTC(year, month - 1, 1));
  return first.getTime() + (((weekday - first.getUTCDay() + 7) % 7) + (nth - 1) * 7) * DAY_MS;
}

/** Easter Sunday of the Gregorian calendar, by the anonymous algorithm of 1876. */
function easter(year: number): number {
  const golden = year % 19;
  const century = Math.floor(year / 100);
  const rest = year % 100;
  const epact =
    (19 * golden +
      century -
      Math.floor(century / 4) -
      Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3) +
      15) %
    30;
  const weekday = (32 + 2 * (century % 4) + 2 * Math.floor(rest / 4) - epact - (rest % 4)) % 7;
  const shift = Math.floor((golden + 11 * epact + 22 * weekday) / 451);
  const days = epact + weekday - 7 * shift + 114;
  return Date.UTC(year, Math.floor(days / 31) - 1, (days % 31) + 1);
}
