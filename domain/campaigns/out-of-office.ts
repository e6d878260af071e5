import { fromWallClock, wallClock } from '../base/calendar.ts';

/** What an automatic reply says about an absence: rules for the languages in which people write them. Pure functions. */

const DAY_MS = 86_400_000;
/** A lead whose reply names no date resumes after this time. */
const WITHOUT_DATE_DAYS = 7;
const LONGEST_DAYS = 60;
/** An automatic reply is short, and the date is at its beginning. */
const MAX_LENGTH = 4000;

/** English, German, Dutch, French, Spanish, Portuguese, Italian, Swedish, Danish and Norwegian, Polish. */
const ABSENCE = new RegExp(
  [
    String.raw`out of (?:the |my )?office|\booo\b|on (?:annual |parental |maternity |paternity |sick |medical )?(?:leave|vacation|holidays?|pto)\b|away from (?:the |my )?(?:office|desk|email)|(?:am|be|currently|is) (?:away|traveling|travelling)|(?:back|return(?:ing)?) (?:to the office|in the office)|limited access to (?:my )?e-?mail`,
    String.raw`abwesen|nicht im (?:büro|buero|haus)|im urlaub|in elternzeit|außer haus|ausser haus|betriebsferien`,
    String.raw`afwezig|niet (?:op|aan) kantoor|(?:op|met) vakantie|met verlof|buiten kantoor`,
    String.raw`absen(?:t|ce)|en (?:congés?|vacances)|hors du bureau|en déplacement`,
    String.raw`fuera de (?:la |mi )?oficina|de vacaciones|ausente|ausencia|estoy de baja`,
    String.raw`fora do (?:meu )?escritório|de férias|ausência`,
    String.raw`fuori (?:sede|ufficio)|in ferie|assente|assenza`,
    String.raw`frånvarande|inte på kontoret|på semester|föräldraledig|tjänstledig`,
    String.raw`fraværende|ikke på kontoret|på ferie|på barsel|ute av kontoret`,
    String.raw`poza biurem|na urlopie|nieobecn`,
  ].join('|'),
  'iu',
);

const MONTHS: readonly (readonly string[])[] = [
  [
    'january',
    'jan',
    'januar',
    'jänner',
    'januari',
    'janvier',
    'janv',
    'enero',
    'ene',
    'janeiro',
    'gennaio',
    'gen',
    'stycznia',
  ],
  [
    'february',
    'feb',
    'februar',
    'februari',
    'février',
    'févr',
    'fevrier',
    'febrero',
    'fevereiro',
    'fev',
    'febbraio',
    'lutego',
  ],
  ['march', 'mar', 'märz', 'maerz', 'maart', 'mrt', 'mars', 'marzo', 'março', 'marts', 'marca'],
  ['april', 'apr', 'avril', 'avr', 'abril', 'abr', 'aprile', 'kwietnia'],
  ['may', 'mai', 'mei', 'mayo', 'maio', 'maggio', 'mag', 'maj', 'maja'],
  ['june', 'jun', 'juni', 'juin', 'junio', 'junho', 'giugno', 'giu', 'czerwca'],
  ['july', 'jul', 'juli', 'juillet', 'juil', 'julio', 'julho', 'luglio', 'lug', 'lipca'],
  ['august', 'aug', 'augustus', 'août', 'aout', 'agosto', 'ago', 'augusti', 'sierpnia'],
  ['september', 'sep', 'sept', 'septembre', 'septiembre', 'setembro', 'set', 'settembre', 'września'],
  [
    'october',
    'oct',
    'oktober',
    'okt',
    'octobre',
    'octubre',
    'outubro',
    'out',
    'ottobre',
    'ott',
    'października',
  ],
  ['november', 'nov', 'novembre', 'noviembre', 'novembro', 'listopada'],
  [
    'december',
    'dec',
    'dezember',
    'dez',
    'décembre',
    'déc',
    'diciembre',
    'dic',
    'dezembro',
    'dicembre',
    'desember',
    'grudnia',
  ],
];
const MONTH_OF = new Map(MONTHS.flatMap((names, index) => names.map((name) => [name, index + 1] as const)));
const MONTH = `(?<month>${[...MONTH_OF.keys()].toSorted((a, b) => b.length - a.length).join('|')})`;

const WEEKDAYS: readonly (readonly string[])[] = [
  [
    'sunday',
    'sonntag',
    'zondag',
    'dimanche',
    'domingo',
    'domenica',
    'söndag',
    'søndag',
    'niedzielę',
    'niedziela',
  ],
  [
    'monday',
    'montag',
    'maandag',
    'lundi',
    'lunes',
    'segunda-feira',
    'segunda',
    'lunedì',
    'måndag',
    'mandag',
    'poniedziałek',
  ],
  [
    'tuesday',
    'dienstag',
    'dinsdag',
    'mardi',
    'martes',
    'terça-feira',
    'terça',
    'martedì',
    'tisdag',
    'tirsdag',
    'wtorek',
  ],
  [
    'wednesday',
    'mittwoch',
    'woensdag',
    'mercredi',
    'miércoles',
    'quarta-feira',
    'quarta',
    'mercoledì',
    'onsdag',
    'środę',
    'środa',
  ],
  [
    'thursday',
    'donnerstag',
    'donderdag',
    'jeudi',
    'jueves',
    'quinta-feira',
    'quinta',
    'giovedì',
    'torsdag',
    'czwartek',
  ],
  [
    'friday',
    'freitag',
    'vrijdag',
    'vendredi',
    'viernes',
    'sexta-feira',
    'sexta',
    'venerdì',
    'fredag',
    'piątek',
  ],
  [
    'saturday',
    'samstag',
    'sonnabend',
    'zaterdag',
    'samedi',
    'sábado',
    'sabato',
    'lördag',
    'lørdag',
    'sobotę',
    'sobota',
  ],
];
const WEEKDAY_OF = new Map(WEEKDAYS.flatMap((names, index) => names.map((name) => [name, index] as const)));

const NOT_BEFORE = String.raw`(?<![\p{L}\p{N}])`;
const NOT_AFTER = String.raw`(?![\p{L}\p{N}])`;
const whole = (pattern: string): RegExp => new RegExp(`${NOT_BEFORE}${pattern}${NOT_AFTER}`, 'giu');

const ISO = whole(String.raw`(?<year>20\d\d)-(?<mm>\d{1,2})-(?<day>\d{1,2})`);
/** 24.12.2026, 24/12, 12/24/2026. */
const NUMBERS = whole(
  String.raw`(?<first>\d{1,2})(?<sign>[./-])\s?(?<second>\d{1,2})(?:\k<sign>\s?(?<year>20\d\d|\d\d))?`,
);
/** 3rd of December, 3. Dezember 2026, 3 de diciembre de 2026, 1er janvier. */
const DAY_MONTH = whole(
  String.raw`(?<day>\d{1,2})(?:st|nd|rd|th|er|[.ºª°])?\s+(?:of\s+|de\s+)?${MONTH}\.?(?:,?\s+(?:de\s+)?(?<year>20\d\d))?`,
);
/** December 3rd, 2026. */
const MONTH_DAY = whole(String.raw`${MONTH}\.?\s+(?<day>\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(?<year>20\d\d))?`);
const DAY_OF_WEEK = whole(
  `(?<weekday>${[...WEEKDAY_OF.keys()].toSorted((a, b) => b.length - a.length).join('|')})`,
);

interface Day {
  year: number | null;
  month: number;
  day: number;
}

const IN_ENGLISH = /\b(?:the|until|will|back|return(?:ing)?|office|am)\b/i;

/** The dates that a text names. @param isAmerican 3/4 is the fourth of March. */
function* daysIn(text: string, isAmerican: boolean): Generator<Day> {
  const year = (given: string | undefined): number | null =>
    given === undefined ? null : given.length === 2 ? 2000 + Number(given) : Number(given);
  for (const { groups = {} } of text.matchAll(ISO))
    yield { year: year(groups['year']), month: Number(groups['mm']), day: Number(groups['day']) };
  for (const { groups = {} } of text.replaceAll(ISO, ' ').matchAll(NUMBERS)) {
    const [first, second] = [Number(groups['first']), Number(groups['second'])];
    const monthFirst = second > 12 || (isAmerican && groups['sign'] === '/' && first <= 12);
    const [month, day] = monthFirst ? [first, second] : [second, first];
    yield { year: year(groups['year']), month, day };
  }
  for (const pattern of [DAY_MONTH, MONTH_DAY])
    for (const { groups = {} } of text.matchAll(pattern)) {
      const month = MONTH_OF.get((groups['month'] ?? '').toLowerCase());
      if (month !== undefined) yield { year: year(groups['year']), month, day: Number(groups['day']) };
    }
}

/** Whether an automatic reply says that the contact is away. */
export const isOutOfOffice = (text: string): boolean => ABSENCE.test(text.slice(0, MAX_LENGTH));

/**
 * When a contact who is away is written to again: in the morning of the last date in the text that is ahead, or of the named day of the
 * week; after 7 days without one, and after at most 60.
 * @param country ISO 3166-1 alpha-2: in the United States, 3/4 is the fourth of March.
 */
export function returnsAt(
  text: string,
  { timezone, country, now }: { timezone: string; country: string; now: Date },
): Date {
  const beginning = text.slice(0, MAX_LENGTH);
  const today = wallClock(timezone, now);
  const midnight = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate());
  const isAmerican = country === 'US' && IN_ENGLISH.test(beginning);
  const morning = (day: number): Date =>
    fromWallClock(timezone, new Date(day + 9 * 3_600_000)) ?? new Date(day + 9 * 3_600_000);
  const days = [...daysIn(beginning, isAmerican)].flatMap(({ year, month, day }) => {
    const on = (inYear: number): number | null => {
      const at = new Date(Date.UTC(inYear, month - 1, day));
      return at.getUTCMonth() === month - 1 && at.getUTCDate() === day ? at.getTime() : null;
    };
    const thisYear = on(year ?? today.getUTCFullYear());
    // Without a year, a date that is long over is of the next one.
    const isOver = year === null && thisYear !== null && thisYear < midnight - 180 * DAY_MS;
    return (isOver ? on(today.getUTCFullYear() + 1) : thisYear) ?? [];
  });
  const ahead = days.filter((day) => day > midnight);
  if (ahead.length > 0) return morning(Math.min(Math.max(...ahead), midnight + LONGEST_DAYS * DAY_MS));
  const weekday = [...beginning.matchAll(DAY_OF_WEEK)].at(-1)?.groups?.['weekday']?.toLowerCase();
  const index = WEEKDAY_OF.get(weekday ?? '');
  if (index === undefined || days.length > 0) return morning(midnight + WITHOUT_DATE_DAYS * DAY_MS);
  const away = (index - today.getUTCDay() + 7) % 7;
  return morning(midnight + (away === 0 ? 7 : away) * DAY_MS);
}
