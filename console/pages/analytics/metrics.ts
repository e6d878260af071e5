import type { MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { POSITIVE_TAGS } from '#domain/shared/positive-tags.ts';
import { numberOf, percentOf } from '#console/lib/format.ts';

export type Metrics = ResponseOf<'GET /api/analytics'>['metrics'];
export type MetricName = keyof Metrics;
export type Point = ResponseOf<'GET /api/analytics/timeseries'>['series'][number];

interface Metric {
  name: MetricName;
  label: MessageDescriptor;
  colour: string;
}

/** All metrics of the API, as they are shown. */
export const METRICS: readonly Metric[] = [
  { name: 'sent', label: msg`Messages sent`, colour: 'accent' },
  { name: 'reached', label: msg`Contacts reached`, colour: 'accent' },
  { name: 'uniqueReplied', label: msg`Contacts who replied`, colour: 'good' },
  { name: 'repliedPct', label: msg`Reply rate`, colour: 'good' },
  { name: 'positiveReplied', label: msg`Positive contacts`, colour: 'good' },
  { name: 'positivePct', label: msg`Positive rate`, colour: 'good' },
  { name: 'replied', label: msg`Messages received`, colour: 'info' },
  { name: 'fallback', label: msg`Fallbacks`, colour: 'warn' },
  { name: 'failed', label: msg({ message: 'Failed', context: 'number of messages' }), colour: 'bad' },
];

export const metricNamed = (name: string): Metric =>
  METRICS.find((metric) => metric.name === name) ?? (METRICS[0] as Metric);

export const isRate = (name: MetricName): boolean => name.endsWith('Pct');

export const shownValue = (name: MetricName, value: number): string =>
  isRate(name) ? percentOf(value) : numberOf(value);

/** What a metric counts, with the labels shown here in place of the API's names. */
export function explanationOf(name: MetricName): string {
  const tags = POSITIVE_TAGS.join(', ');
  const explanations: Record<MetricName, string> = {
    sent: t`Outbound messages that were sent or delivered.`,
    reached: t`Distinct contacts with at least one outbound message that was sent or delivered.`,
    uniqueReplied: t`Distinct contacts with at least one reply that is not automatic.`,
    repliedPct: t`“Contacts who replied” / “Contacts reached”, at most 1; 0 if nobody was reached.`,
    positiveReplied: t`The contacts of “Contacts who replied” whose conversation has a positive tag: ${tags}.`,
    positivePct: t`“Positive contacts” / “Contacts who replied”; 0 if nobody replied.`,
    replied: t`All inbound messages, including automatic replies.`,
    fallback: t`Outbound messages whose recipient could not be reached on the primary channel, or that were sent as fallback SMS.`,
    failed: t`Outbound messages that failed.`,
  };
  return explanations[name];
}
