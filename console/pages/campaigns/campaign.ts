import { plural, t } from '@lingui/core/macro';
import type { RequestTo, ResponseOf } from '#console/api/routes.ts';
import { formatLocale } from '#console/lib/locale.ts';

export type Campaign = ResponseOf<'GET /api/campaigns'>['campaigns'][number];
export type AnyStep = Campaign['steps'][number];
/** A message. */
export type Step = Extract<AnyStep, { messageType: unknown }>;
export type Progress = ResponseOf<'GET /api/campaigns/{id}'>['progress'];
export type CampaignBody = NonNullable<RequestTo<'POST /api/campaigns'>['body']>;

export const isMessage = (step: AnyStep): step is Step => 'messageType' in step;

/** What a step does. */
export const kindText = (kind: NonNullable<AnyStep['kind']>): string =>
  ({
    message: t`Sends a message`,
    wait: t`Waits`,
    wait_until: t`Waits until something happens`,
    branch: t`Decides`,
    do: t`Changes the contact`,
    end: t`Ends`,
  })[kind];

/** What is read again after a campaign has changed. */
export const CAMPAIGNS = [
  'GET /api/campaigns',
  'GET /api/campaigns/{id}',
  'GET /api/campaigns/{id}/corrections',
] as const;

export const STATUSES = ['draft', 'active', 'paused', 'completed', 'archived'] as const;

/** The names of a step's A/B texts, by position. */
export const VARIANT_NAMES = ['A', 'B', 'C', 'D'] as const;

/** What a step sends: its message, or its variants with their shares of the leads. */
export function textsOf({ message, subject, variants }: Step) {
  if (!variants) return [{ name: '', text: message, subject, share: null }];
  const total = variants.reduce((sum, { weight }) => sum + weight, 0);
  return variants.map((variant, index) => ({
    name: VARIANT_NAMES[index] ?? '',
    text: variant.body,
    subject: variant.subject ?? subject,
    share: variant.weight / total,
  }));
}

/** The name of a weekday. The API counts from Sunday, which is 0. */
export const dayName = (day: number): string =>
  new Intl.DateTimeFormat(formatLocale, { weekday: 'long', timeZone: 'UTC' }).format(
    Date.UTC(2023, 0, 1 + day),
  );

/** 1 day, 2 hours */
export const spanText = ({ days = 0, hours = 0, minutes = 0 }: Step['delay']): string =>
  [
    days !== 0 && plural(days, { one: '# day', other: '# days' }),
    hours !== 0 && plural(hours, { one: '# hour', other: '# hours' }),
    minutes !== 0 && plural(minutes, { one: '# minute', other: '# minutes' }),
  ]
    .filter(Boolean)
    .join(', ');

/** When the step is sent, as its delay counts: from entering, or from the step before. */
export function whenText(step: Step, index: number): string {
  const delay = spanText(step.delay);
  if (index === 0) return delay === '' ? t`When a lead enters` : t`${delay} after a lead enters`;
  return delay === '' ? t`Right after the previous step` : t`${delay} after the previous step`;
}

/** The hours and days in which messages leave. */
export function windowText({ sendWindowStart, sendWindowEnd, allowedDaysOfWeek }: Campaign): string {
  const start = sendWindowStart ?? '00:00';
  const end = sendWindowEnd ?? '24:00';
  const hours =
    sendWindowStart === null && sendWindowEnd === null
      ? t({ message: 'Any time', context: 'hours' })
      : t`${start} to ${end}`;
  const days = allowedDaysOfWeek?.map((day) => dayName(day)).join(', ');
  return days === undefined ? hours : `${hours}, ${days}`;
}
