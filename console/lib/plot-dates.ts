import { formatLocale } from './locale.ts';

const namesOf = (
  length: number,
  day: (index: number) => Date,
  options: Intl.DateTimeFormatOptions,
): string[] => {
  const format = new Intl.DateTimeFormat(formatLocale, { timeZone: 'UTC', ...options });
  return Array.from({ length }, (_, index) => format.format(day(index)));
};
const month = (index: number): Date => new Date(Date.UTC(2024, index, 1));
// A Sunday.
const weekday = (index: number): Date => new Date(Date.UTC(2024, 8, 1 + index));

/** The names in dates of plots. */
export const DATE_NAMES = {
  MMMM: namesOf(12, month, { month: 'long' }),
  MMM: namesOf(12, month, { month: 'short' }),
  WWWW: namesOf(7, weekday, { weekday: 'long' }),
  WWW: namesOf(7, weekday, { weekday: 'short' }),
};

const format = new Intl.DateTimeFormat(formatLocale, { day: 'numeric', month: 'numeric', hour: 'numeric' });
const isDayFirst = format.formatToParts(month(0))[0]?.type === 'day';
const has24Hours = format.resolvedOptions().hour12 === false;

/** uPlot's template of a date, which is American, for the language of the console. */
export function dateTemplate(template: string): string {
  const ordered = isDayFirst ? template.replace('{M}/{D}', '{D}/{M}') : template;
  return has24Hours ? ordered.replace('{h}:{mm}{aa}', '{H}:{mm}').replace('{h}{aa}', '{H}:00') : ordered;
}
