import type { ResponseOf } from '#console/api/routes.ts';
import { numberOf, percentOf } from '#console/lib/format.ts';

export type Metrics = ResponseOf<'GET /api/analytics'>['metrics'];
export type MetricName = keyof Metrics;
export type Point = ResponseOf<'GET /api/analytics/timeseries'>['series'][number];

interface Metric {
  name: MetricName;
  label: string;
  colour: string;
}

/** All metrics of the API, as they are shown. */
export const METRICS: readonly Metric[] = [
  { name: 'sent', label: 'Messages sent', colour: 'accent' },
  { name: 'reached', label: 'Contacts reached', colour: 'accent' },
  { name: 'uniqueReplied', label: 'Contacts who replied', colour: 'good' },
  { name: 'repliedPct', label: 'Reply rate', colour: 'good' },
  { name: 'positiveReplied', label: 'Positive contacts', colour: 'good' },
  { name: 'positivePct', label: 'Positive rate', colour: 'good' },
  { name: 'replied', label: 'Messages received', colour: 'info' },
  { name: 'fallback', label: 'Fallbacks', colour: 'warn' },
  { name: 'failed', label: 'Failed', colour: 'bad' },
];

export const metricNamed = (name: string): Metric =>
  METRICS.find((metric) => metric.name === name) ?? (METRICS[0] as Metric);

export const isRate = (name: MetricName): boolean => name.endsWith('Pct');

export const shownValue = (name: MetricName, value: number): string =>
  isRate(name) ? percentOf(value) : numberOf(value);

const SHOWN_NAMES = new Map(METRICS.map(({ name, label }) => [name as string, `“${label}”`]));

/** The API's explanation of a metric, with the labels shown here in place of names like `uniqueReplied`. */
export const explained = (text: string): string =>
  text.replaceAll(/\b[a-z]+[A-Z]\w+/g, (name) => SHOWN_NAMES.get(name) ?? name);
