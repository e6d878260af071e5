import { z } from 'zod';
import { nextMorning, toDate, toZoned } from './calendar.ts';
import type { EmailPreferences } from './email-preferences.ts';
import { POSITIVE_TAGS } from './metrics.ts';

/** The emails that a workspace may turn off; line health has its own switch on each line. */
export const NotificationKind = z.enum(['reply', 'campaign', 'billing', 'system_error']);
export type NotificationKind = z.infer<typeof NotificationKind>;

/** What is told beside replies. Texts and ids only: names are read when the email is written. */
export const Notice = z.discriminatedUnion('about', [
  z.object({ about: z.literal('campaign_progress'), campaignId: z.string() }),
  z.object({ about: z.literal('campaign_completed'), campaignId: z.string() }),
  z.object({
    about: z.literal('payment_failed'),
    lineId: z.string().nullable(),
    paymentUrl: z.string().nullable(),
  }),
  z.object({ about: z.literal('invoice_paid'), lineId: z.string() }),
  z.object({ about: z.literal('plan_changed'), from: z.string().nullable(), to: z.string() }),
  z.object({ about: z.literal('subscription_canceled') }),
  z.object({ about: z.literal('line_failed'), lineId: z.string(), reason: z.string() }),
  z.object({ about: z.literal('webhook_failing'), webhookId: z.string(), failures: z.int() }),
]);
export type Notice = z.infer<typeof Notice>;

const KINDS = {
  campaign_progress: 'campaign',
  campaign_completed: 'campaign',
  payment_failed: 'billing',
  invoice_paid: 'billing',
  plan_changed: 'billing',
  subscription_canceled: 'billing',
  line_failed: 'system_error',
  webhook_failing: 'system_error',
} as const satisfies Record<Notice['about'], NotificationKind>;

export const kindOf = ({ about }: Notice): NotificationKind => KINDS[about];

const MINUTE_MS = 60_000;
const DEBOUNCE_MS = 5 * MINUTE_MS;
/** A contact who never stops writing is told of all the same. */
const LONGEST_DEBOUNCE_MS = 30 * MINUTE_MS;
/** How long a reply may still turn out to be positive: tags are set by people and by the language model. */
const POSITIVE_WITHIN_MS = 60 * MINUTE_MS;
const DIGEST_TIME = '09:00';

/**
 * When the alert of a reply is due.
 * @param since the first reply of the contact that nobody was told of.
 * @param zone the workspace's time zone, for the daily digest.
 */
export function replyDueAt(
  mode: EmailPreferences['reply']['mode'],
  { since, now, zone, positive }: { since: Date; now: Date; zone: string; positive: boolean },
): Date {
  switch (mode) {
    case 'all':
      return now;
    case 'positive_only':
      return positive ? now : new Date(now.getTime() + POSITIVE_WITHIN_MS);
    case 'debounce_5min':
      return new Date(Math.min(now.getTime() + DEBOUNCE_MS, since.getTime() + LONGEST_DEBOUNCE_MS));
    case 'daily_digest':
      return nextDigest(zone, now);
  }
}

/** When what is told once a day is due, the next 09:00 there: today's when it is still to come. */
export function nextDigest(zone: string, now: Date): Date {
  const today = toDate(toZoned(zone, now).withPlainTime(DIGEST_TIME));
  return today > now ? today : nextMorning(zone, now, DIGEST_TIME);
}

/** Whether the tags of a conversation make it a positive one. */
export const isPositive = (tags: readonly string[]): boolean =>
  tags.some((tag) => (POSITIVE_TAGS as readonly string[]).includes(tag.toLowerCase()));
