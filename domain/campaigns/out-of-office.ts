import { fromWallClock, wallClock, wallTime } from '../base/calendar.ts';

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

/** Who is back, or away until then, if a day is named nearby. What shops and help desks promise is not meant: "We get back to you". */
const RETURN = new RegExp(
  String.raw`(?<![\p{L}\p{N}])(?:${[
    String.raw`(?:be|am|are|i['’]m|we['’]re) (?:back|out|off|gone|closed|unavailable|not available)|(?<=(?:^|[.,:;!\n])\s{0,2})back|(?:out|off|gone|closed|unavailable) (?:from|until|till|through)|(?:office|leave|vacation|holidays?|away) for|(?:i|we|will|['’]ll) return|returning|return date`,
    String.raw`wieder (?:da|zurück|erreichbar|verfügbar|für sie da|im (?:büro|buero|haus))|(?:bin|sind) (?:\S+ ){0,5}zurück|nicht (?:erreichbar|verfügbar)|geschlossen`,
    String.raw`weer (?:bereikbaar|aanwezig|terug|beschikbaar|op kantoor)|(?:ben|zijn) (?:\S+ ){0,5}terug|niet bereikbaar|gesloten`,
    String.raw`(?:serai|suis|serons|sommes) (?:à nouveau |de nouveau )?(?:de retour|joignable)|reviens|reviendrai|rentre|rentrerai|fermée?s?`,
    String.raw`vuelvo|volver[ée]|de vuelta|regreso|regresaré|cerrad[oa]s?`,
    String.raw`regresso|regressarei|volto|voltarei|retorno|retornarei|de volta|fechad[oa]s?`,
    String.raw`rientro|rientrerò|torno|tornerò|di ritorno|chius[oaie]`,
    String.raw`(?:är|kommer) (?:\S+ ){0,3}tillbaka|stängt`,
    String.raw`(?:er|kommer) (?:\S+ ){0,3}(?:tilbage|tilbake)|lukket|stengt`,
    String.raw`wracam|wrócę|nieczynne`,
  ].join('|')})(?![\p{L}\p{N}])`,
  'giu',
);
/** How far from it the day may be, in characters. */
const NEARBY = 60;

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

/** The names of months and of days of the week, for a regular expression. */
export const CALENDAR_NAMES = [...MONTHS, ...WEEKDAYS].flat().join('|');

const NOT_BEFORE = String.raw`(?<![\p{L}\p{N}])`;
const NOT_AFTER = String.raw`(?![\p{L}\p{N}])`;
const whole = (pattern: string): RegExp => new RegExp(`${NOT_BEFORE}${pattern}${NOT_AFTER}`, 'giu');

const ISO = whole(String.raw`(?<year>20\d\d)-(?<mm>\d{1,2})-(?<day>\d{1,2})`);
/** 24.12.2026, 24/12, 12/24/2026. */
const NUMBERS = whole(
  String.raw`(?<first>\d{1,2})(?<sign>[./-])\s?(?<second>\d{1,2})(?:\k<sign>\s?(?<year>20\d\d|\d\d))?`,
);
/** 3rd of December, 3. Dezember 2026, 3 de diciembre de 2026, 1er janvier, 3-Dec-2026. */
const DAY_MONTH = whole(
  String.raw`(?<day>\d{1,2})(?:st|nd|rd|th|er|[.ºª°])?(?:\s+|-)(?:of\s+|de\s+)?${MONTH}\.?(?:(?:,?\s+|-)(?:de\s+)?(?<year>20\d\d))?`,
);
/** December 3rd, 2026; December 3-10. */
const MONTH_DAY = whole(
  String.raw`${MONTH}\.?\s+(?:\d{1,2}(?:st|nd|rd|th)?\s?[-–]\s?)?(?<day>\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(?<year>20\d\d))?`,
);
/** Until the 3rd. */
const DAY_OF_MONTH = whole(String.raw`the\s+(?<day>\d{1,2})(?:st|nd|rd|th)`);
const WEEKDAY = `(?<weekday>${[...WEEKDAY_OF.keys()].toSorted((a, b) => b.length - a.length).join('|')})`;
const DAY_OF_WEEK = whole(WEEKDAY);
/** Monday to Friday 9am to 5pm, which names no day of a return. */
const OPENING_DAYS = whole(
  String.raw`${WEEKDAY}s?\s?(?:to|through|bis|tot|till?|do|à|au|al?|até|[-–])\s?${WEEKDAY.replace('weekday', 'last')}s?(?=\D{0,15}\d)`,
);

const TOMORROW = whole(
  String.raw`tomorrow|(?<!guten |goeden? )morgen|demain|(?<!la )mañana|amanhã|domani|i ?morgon|jutro`,
);
const NEXT_WEEK = whole(
  [
    'next week|(?:nächste|kommende)r? woche|volgende week|semaine prochaine|(?:próxima semana|semana que viene)|semana que vem',
    'settimana prossima|prossima settimana|nästa vecka|neste uke|næste uge|(?:przyszłym|następnym) tygodniu',
  ].join('|'),
);
const COUNTS: readonly string[] = [
  'an?|one|eine[mrn]?|een|une?|un[ao]?|uma?|ett?|en',
  'two|zwei|twee|deux|dos|dois|duas|due|två|to|dwa',
  'three|drei|drie|trois|tres|três|tre|trzy',
  'four|vier|quatre|cuatro|quatro|quattro|fyra|fire|cztery',
];
const IN_DAYS = whole(
  String.raw`(?:(?<count>[1-9]\d?)|${COUNTS.map((words, index) => `(?<count${index + 1}>${words})`).join('|')})\s+(?:(?<days>days?|tage?n?|dag(?:en|ar|er|e)?|jours?|d[ií]as?|giorn[oi]|dni)|weeks?|wochen?|weken|semaines?|semanas?|settiman[ae]|veck(?:a|or)|uger?|uker?|tygodnie)`,
);

/** The parts of a text that say when somebody is back. */
const returnsIn = (text: string): string[] =>
  [...text.matchAll(RETURN)].map(({ 0: { length }, index }) =>
    text.slice(Math.max(0, index - NEARBY), index + length + NEARBY),
  );

const MONDAY = 1;

/** In how many days the day of the week comes next. @param from that of today. */
const daysUntil = (weekday: number, from: number): number => (weekday - from + 7) % 7 || 7;

/** @returns in how many days somebody is back; null: the text does not say so. */
function daysUntilReturn(text: string, weekday: number): number | null {
  for (const part of returnsIn(text)) {
    const groups = part.matchAll(IN_DAYS).next().value?.groups;
    if (groups !== undefined) {
      const word = COUNTS.findIndex((_, index) => groups[`count${index + 1}`] !== undefined) + 1;
      return (word || Number(groups['count'])) * (groups['days'] === undefined ? 7 : 1);
    }
    if (part.search(NEXT_WEEK) >= 0) return daysUntil(MONDAY, weekday);
    if (part.search(TOMORROW) >= 0) return 1;
  }
  return null;
}

interface Day {
  year: number | null;
  month: number;
  day: number;
}

const IN_ENGLISH = /\b(?:the|until|will|back|return(?:ing)?|office|am|are|our)\b/i;

/** The dates that a text names. @param isAmerican 3/4 is the fourth of March. */
function* daysIn(text: string, isAmerican: boolean): Generator<Day> {
  const year = (given: string | undefined): number | null =>
    given === undefined ? null : given.length === 2 ? 2000 + Number(given) : Number(given);
  for (const { groups = {} } of text.matchAll(ISO))
    yield { year: year(groups['year']), month: Number(groups['mm']), day: Number(groups['day']) };
  for (const { 0: match, groups = {} } of text.replaceAll(ISO, ' ').matchAll(NUMBERS)) {
    const [first, second] = [Number(groups['first']), Number(groups['second'])];
    // Hours, such as 9-5, 9-17 and 24/7.
    const isSpan = groups['sign'] === '-' && (second > 12 || (first <= 12 && IN_ENGLISH.test(text)));
    if (groups['year'] === undefined && (isSpan || match === '24/7')) continue;
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

const beginningOf = (text: string): string => text.slice(0, MAX_LENGTH).replaceAll(OPENING_DAYS, ' ');

const namesDay = (text: string): boolean =>
  daysIn(text, false).next().done === false ||
  [DAY_OF_MONTH, DAY_OF_WEEK, IN_DAYS, NEXT_WEEK, TOMORROW].some((pattern) => text.search(pattern) >= 0);

/** Whether an automatic reply says that the contact is away, or when they are back. */
export function isOutOfOffice(text: string): boolean {
  const beginning = beginningOf(text);
  return ABSENCE.test(beginning) || returnsIn(beginning).some(namesDay);
}

interface Here {
  timezone: string;
  now: Date;
}

/** The day of a time as midnight in UTC. */
const dayOf = ({ timezone, now }: Here): number => wallTime(wallClock(timezone, now), 0, '00:00').getTime();

/** The morning of a day, which is at most 60 days ahead. */
function morningOf(day: number, here: Here): Date {
  const at = wallTime(new Date(Math.min(day, dayOf(here) + LONGEST_DAYS * DAY_MS)), 0, '09:00');
  return fromWallClock(here.timezone, at) ?? at;
}

/** When a contact is written to again whose automatic reply names no day. */
export const withoutDay = (here: Here): Date => morningOf(dayOf(here) + WITHOUT_DATE_DAYS * DAY_MS, here);

/** When a contact is written to again who is back on a day; null: it is not ahead. @param date `2026-12-24`. */
export function returnsOn(date: string, here: Here): Date | null {
  const day = Date.parse(`${date}T00:00:00Z`);
  return day > dayOf(here) ? morningOf(day, here) : null;
}

/**
 * When a contact who is away is written to again: in the morning of the last date in the text that is ahead, of the named day of the
 * week, or after the time that it names; after at most 60 days. null: it names none.
 * @param country ISO 3166-1 alpha-2: in the United States, 3/4 is the fourth of March.
 */
export function returnsAt(text: string, { country, ...here }: Here & { country: string }): Date | null {
  const beginning = beginningOf(text);
  const midnight = dayOf(here);
  const today = new Date(midnight);
  const isAmerican = country === 'US' && IN_ENGLISH.test(beginning);
  const morning = (day: number): Date => morningOf(day, here);
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
  if (ahead.length > 0) return morning(Math.max(...ahead));
  // What it names is over.
  if (days.length > 0) return null;
  const dayOfMonth = [...beginning.matchAll(DAY_OF_MONTH)].at(-1)?.groups?.['day'];
  if (dayOfMonth) {
    const passed = Number(dayOfMonth) <= today.getUTCDate() ? 1 : 0;
    return morning(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + passed, Number(dayOfMonth)));
  }
  const weekday = [...beginning.matchAll(DAY_OF_WEEK)].at(-1)?.groups?.['weekday']?.toLowerCase();
  const named = WEEKDAY_OF.get(weekday ?? '');
  const away =
    named === undefined ? daysUntilReturn(beginning, today.getUTCDay()) : daysUntil(named, today.getUTCDay());
  return away === null ? null : morning(midnight + away * DAY_MS);
}
