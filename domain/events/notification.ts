import { z } from 'zod';
import { nextMorning, toDate, toZoned } from '../base/calendar.ts';
import type { EmailPreferences } from './email-preferences.ts';
import { POSITIVE_TAGS } from '../shared/positive-tags.ts';

/** The emails that a workspace can turn off. Line health is configured per line (`lineDownNotifications`). */
export const NotificationKind = z.enum(['reply', 'campaign', 'billing', 'system_error']);
export type NotificationKind = z.infer<typeof NotificationKind>;

/** A notification other than a reply alert. It holds ids; names are looked up when the email is rendered. */
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
  z.object({ about: z.literal('opt_out_suspected'), suspicionId: z.string() }),
  z.object({ about: z.literal('rule_ran'), runId: z.string() }),
  z.object({ about: z.literal('draft_waiting'), replyId: z.string() }),
  z.object({ about: z.literal('mentioned'), noteId: z.string(), userId: z.string() }),
  z.object({
    about: z.literal('webhook_failing'),
    webhookId: z.string(),
    failures: z.int(),
    /** Its endpoint said that it is gone for good, so the webhook was deactivated. */
    isGone: z.boolean().optional(),
  }),
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
  opt_out_suspected: 'reply',
  rule_ran: 'reply',
  draft_waiting: 'reply',
  mentioned: 'reply',
} as const satisfies Record<Notice['about'], NotificationKind>;

/** Whether a queued notification is the alert for a contact's replies; all others have a notice. */
export const isReplyAlert = ({ kind, data }: { kind: NotificationKind; data: unknown }): boolean =>
  kind === 'reply' && !Notice.safeParse(data).success;

export const kindOf = ({ about }: Notice): NotificationKind => KINDS[about];

const MINUTE_MS = 60_000;
const DEBOUNCE_MS = 5 * MINUTE_MS;
/** An alert is sent after this time even if the contact keeps writing. */
const MAX_DEBOUNCE_MS = 30 * MINUTE_MS;
/** How long to wait for a positive tag, which is set by a user or by the language model. */
const POSITIVE_WITHIN_MS = 60 * MINUTE_MS;
const DIGEST_TIME = '09:00';

/**
 * When the alert for a reply is due.
 * @param since the contact's first reply that is not in an alert yet.
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
      return new Date(Math.min(now.getTime() + DEBOUNCE_MS, since.getTime() + MAX_DEBOUNCE_MS));
    case 'daily_digest':
      return nextDigest(zone, now);
  }
}

const MENTIONS_EVERY_MS = 5 * MINUTE_MS;

/**
 * When a member is told that a note mentions them: at once, or with further mentions in one email.
 * @param last when they got their last notice, or will get it; null: never.
 */
export const mentionDueAt = (last: Date | null, now: Date): Date =>
  last === null ? now : new Date(Math.max(now.getTime(), last.getTime() + MENTIONS_EVERY_MS));

/** The next 09:00 in the zone: today's if it is still ahead. */
export function nextDigest(zone: string, now: Date): Date {
  const today = toDate(toZoned(zone, now).withPlainTime(DIGEST_TIME));
  return today > now ? today : nextMorning(zone, now, DIGEST_TIME);
}

/** Whether a conversation with these tags is positive. */
export const isPositive = (tags: readonly string[]): boolean =>
  tags.some((tag) => (POSITIVE_TAGS as readonly string[]).includes(tag.toLowerCase()));
