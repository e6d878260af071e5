import { z } from 'zod';

/** What a line does not do, and why. */
export const LineTrouble = z.enum([
  'provisioning_failed',
  'line_not_connected',
  'line_inactive',
  'line_paused',
  'line_down',
  'line_resting',
  'carrier_refuses',
  'mailbox_unreadable',
  'replies_not_reported',
]);

export const AttentionKind = z.enum([
  'suspended',
  'unpaid',
  'lines',
  'throttled_lines',
  'failed_messages',
  'suspected_opt_outs',
  'unanswered',
  'drafts',
  'failing_webhooks',
  'broken_crms',
  'expiring_keys',
]);
export type AttentionKind = z.infer<typeof AttentionKind>;

/** How long messages that failed are named. */
export const FAILED_HOURS = 24;
/** How long before their end keys are named. */
export const EXPIRING_DAYS = 14;

/** Something that waits for a person. */
export const AttentionItem = z
  .object({
    kind: AttentionKind.meta({
      description: `\`lines\`: lines that do not send, or whose replies do not arrive, an item for each \`reason\`. \`throttled_lines\`: lines whose reputation slows them down. \`failed_messages\`: messages that failed in the last ${FAILED_HOURS} hours. \`unpaid\`: a subscription or lines that wait for a payment. \`broken_crms\`: connected CRMs that refuse their token. \`expiring_keys\`: they end within ${EXPIRING_DAYS} days.`,
    }),
    reason: LineTrouble.nullable().meta({ description: 'Of `lines`; null otherwise.' }),
    count: z.int().min(1),
    since: z.iso.datetime().nullable().meta({
      description:
        'Since when the first of them waits; of keys: when the first ends. Null if it is not known.',
    }),
    href: z.string().meta({ description: 'The path of the page of the console that shows them.' }),
  })
  .meta({ id: 'AttentionItem' });
export type AttentionItem = z.infer<typeof AttentionItem>;

const HREFS: Record<AttentionKind, string> = {
  suspended: '/console/lines',
  unpaid: '/console/lines',
  lines: '/console/lines',
  throttled_lines: '/console/lines',
  failed_messages: '/console/messages?status=failed',
  suspected_opt_outs: '/console/compliance?tab=opt-outs',
  unanswered: '/console/inbox?filter=unanswered',
  drafts: '/console/inbox?filter=drafts',
  failing_webhooks: '/console/webhooks',
  broken_crms: '/console/settings',
  expiring_keys: '/console/settings?tab=keys',
};

export const hrefOf = (kind: AttentionKind): string => HREFS[kind];
