import { createDraftActivities } from './drafts/ai-drafts.ts';
import { createAnalyticsActivities } from './analytics/analytics.ts';
import { createAutopilotDryRunActivities } from './drafts/autopilot-dry-run.ts';
import { createAvailabilityActivities } from './lines/availability.ts';
import { createCampaignActivities } from './campaigns/campaigns.ts';
import { createChatActivities } from './drafts/chats.ts';
import { createCrmActivities } from './crm/crm.ts';
import { createContactErasureActivities } from './contacts/contact-erasure.ts';
import type { Dependencies } from './dependencies.ts';
import { createDrainActivities } from './messages/drip.ts';
import { createLostRoundActivities } from './base/lost-rounds.ts';
import { createLineHandoverActivities } from './lines/line-handover.ts';
import { createLineHealthActivities } from './lines/line-health.ts';
import { createLineInboxActivities } from './lines/line-inboxes.ts';
import { createLineInvoiceActivities } from './lines/line-invoices.ts';
import { createLineOrderActivities } from './lines/line-orders.ts';
import { createLineReputationActivities } from './lines/line-reputation.ts';
import { createLineRequestActivities } from './lines/line-requests.ts';
import { createListDeletionActivities } from './contacts/list-deletion.ts';
import { createMailActivities } from './events/mail.ts';
import { createImportActivities } from './contacts/imports.ts';
import { createNotificationActivities } from './events/notifications.ts';
import { createOptInActivities } from './contacts/opt-ins.ts';
import { createOptOutJudgeActivities } from './contacts/opt-out-judge.ts';
import { createPersonalizationActivities } from './campaigns/personalization.ts';
import { createRoundPollerActivities } from './base/round-poller.ts';
import { createReplyAttachmentActivities } from './inbox/reply-attachments.ts';
import { createRetentionActivities } from './base/retention.ts';
import { createRuleActivities } from './inbox/rules.ts';
import { createSendActivities } from './sending/send.ts';
import { createSweepActivities } from './base/sweep.ts';
import { createTestClockActivities } from './test-mode/test-clock.ts';
import { createWebhookActivities } from './events/webhooks.ts';

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
    ...createRoundPollerActivities(dependencies),
    ...createLostRoundActivities(dependencies),
    ...createMailActivities(dependencies),
    ...createNotificationActivities(dependencies),
    ...createLineInvoiceActivities(dependencies),
    ...createLineRequestActivities(dependencies),
    ...createReplyAttachmentActivities(dependencies),
    ...createCampaignActivities(dependencies),
    ...createPersonalizationActivities(dependencies),
    ...createOptInActivities(dependencies),
    ...createRuleActivities(dependencies),
    ...createOptOutJudgeActivities(dependencies),
    ...createImportActivities(dependencies),
    ...createListDeletionActivities(dependencies),
    ...createContactErasureActivities(dependencies),
    ...createDraftActivities(dependencies),
    ...createAutopilotDryRunActivities(dependencies),
    ...createChatActivities(dependencies),
    ...createCrmActivities(dependencies),
    ...createRetentionActivities(dependencies),
    ...createSweepActivities(dependencies),
    ...createAnalyticsActivities(dependencies),
    ...createTestClockActivities(dependencies),
  };
}

export type Activities = ReturnType<typeof createActivities>;
