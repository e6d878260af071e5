import { createDraftActivities } from './ai-drafts.ts';
import { createAnalyticsActivities } from './analytics.ts';
import { createAvailabilityActivities } from './availability.ts';
import { createCampaignActivities } from './campaigns.ts';
import { createContactErasureActivities } from './contact-erasure.ts';
import type { Dependencies } from './dependencies.ts';
import { createDrainActivities } from './drip.ts';
import { createLineHandoverActivities } from './line-handover.ts';
import { createLineHealthActivities } from './line-health.ts';
import { createLineInboxActivities } from './line-inboxes.ts';
import { createLineInvoiceActivities } from './line-invoices.ts';
import { createLineOrderActivities } from './line-orders.ts';
import { createLineReputationActivities } from './line-reputation.ts';
import { createLineRequestActivities } from './line-requests.ts';
import { createListDeletionActivities } from './list-deletion.ts';
import { createMailActivities } from './mail.ts';
import { createImportActivities } from './imports.ts';
import { createNotificationActivities } from './notifications.ts';
import { createOptOutJudgeActivities } from './opt-out-judge.ts';
import { createPersonalizationActivities } from './personalization.ts';
import { createReplyAttachmentActivities } from './reply-attachments.ts';
import { createRetentionActivities } from './retention.ts';
import { createSendActivities } from './send.ts';
import { createSweepActivities } from './sweep.ts';
import { createTestClockActivities } from './test-clock.ts';
import { createWebhookActivities } from './webhooks.ts';

/** All activities. Workers register them; workflows import only their type. */
export function createActivities(dependencies: Dependencies) {
  return {
    ...createSendActivities(dependencies),
    ...createAvailabilityActivities(dependencies),
    ...createLineHandoverActivities(dependencies),
    ...createLineHealthActivities(dependencies),
    ...createLineReputationActivities(dependencies),
    ...createLineOrderActivities(dependencies),
    ...createLineInboxActivities(dependencies),
    ...createDrainActivities(dependencies),
    ...createWebhookActivities(dependencies),
    ...createMailActivities(dependencies),
    ...createNotificationActivities(dependencies),
    ...createLineInvoiceActivities(dependencies),
    ...createLineRequestActivities(dependencies),
    ...createReplyAttachmentActivities(dependencies),
    ...createCampaignActivities(dependencies),
    ...createPersonalizationActivities(dependencies),
    ...createOptOutJudgeActivities(dependencies),
    ...createImportActivities(dependencies),
    ...createListDeletionActivities(dependencies),
    ...createContactErasureActivities(dependencies),
    ...createDraftActivities(dependencies),
    ...createRetentionActivities(dependencies),
    ...createSweepActivities(dependencies),
    ...createAnalyticsActivities(dependencies),
    ...createTestClockActivities(dependencies),
  };
}

export type Activities = ReturnType<typeof createActivities>;
