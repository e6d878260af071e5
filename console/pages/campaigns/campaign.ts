import type { RequestTo, ResponseOf } from '#console/api/routes.ts';

export type Campaign = ResponseOf<'GET /api/campaigns'>['campaigns'][number];
export type Step = Campaign['steps'][number];
export type Progress = ResponseOf<'GET /api/campaigns/{id}'>['progress'];
export type CampaignBody = NonNullable<RequestTo<'POST /api/campaigns'>['body']>;

/** What is read again after a campaign has changed. */
export const CAMPAIGNS = ['GET /api/campaigns', 'GET /api/campaigns/{id}'] as const;

export const STATUSES = ['draft', 'active', 'paused', 'completed', 'archived'] as const;

/** Of the A/B texts of a step, by their position. */
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

/** In the numbers of the API. */
export const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** 1 day, 2 hours */
export function delayText({ days = 0, hours = 0, minutes = 0 }: Step['delay']): string {
  const parts = [unit(days, 'day'), unit(hours, 'hour'), unit(minutes, 'minute')].filter(Boolean);
  return parts.join(', ');
}

const unit = (amount: number, name: string): string =>
  amount === 0 ? '' : `${amount} ${name}${amount === 1 ? '' : 's'}`;

/** When the step is sent, as its delay counts: from entering, or from the step before. */
export function whenText(step: Step, index: number): string {
  const delay = delayText(step.delay);
  if (index === 0) return delay === '' ? 'When a lead enters' : `${delay} after a lead enters`;
  return delay === '' ? 'Right after the previous step' : `${delay} after the previous step`;
}

/** The hours and days in which messages leave. */
export function windowText({ sendWindowStart, sendWindowEnd, allowedDaysOfWeek }: Campaign): string {
  const hours =
    sendWindowStart === null && sendWindowEnd === null
      ? 'Any time'
      : `${sendWindowStart ?? '00:00'} to ${sendWindowEnd ?? '24:00'}`;
  const days = allowedDaysOfWeek?.map((day) => DAYS[day]).join(', ');
  return days === undefined ? hours : `${hours}, ${days}`;
}
