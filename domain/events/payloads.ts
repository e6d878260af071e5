import type { z } from 'zod';
import type { DeliveredEvent } from './event.ts';
import { AiDraft, AiDraftApproved, AiDraftRejected } from './ai-draft.ts';
import { AiBudgetExhausted } from './ai-budget.ts';
import { ConversationAssigned, ConversationStatusChanged } from './conversation.ts';
import { CallEnded } from './call.ts';
import { CampaignCompleted, CampaignStepDone, CampaignWillBeLate } from './campaign.ts';
import { ContactOptedIn, ContactOptedOut } from './contact.ts';
import { ImportCompleted } from './import.ts';
import { LeadCreated, LeadDeleted, LeadUpdated } from './lead.ts';
import { LineDown, LineUp } from './line-health.ts';
import { LineReputationChanged } from './line-reputation.ts';
import {
  MessageCanceled,
  MessageDelivered,
  MessageFailed,
  MessageFallback,
  MessageOpened,
  MessageSent,
} from './message-status.ts';
import { OptOutSuspected } from './opt-out-suspected.ts';
import { WebhookPing } from './ping.ts';
import { MessageReaction } from './reaction.ts';
import { MessageReply } from './reply.ts';
import { MessageEdited, MessageUnsent } from './reply-change.ts';

/**
 * The body of every event. The types of the outbox and the webhooks of the OpenAPI document derive from this map.
 */
export const EVENT_PAYLOADS = {
  'message.sent': MessageSent,
  'message.delivered': MessageDelivered,
  'message.failed': MessageFailed,
  'message.fallback': MessageFallback,
  'message.canceled': MessageCanceled,
  'message.opened': MessageOpened,
  'message.reply': MessageReply,
  'message.reaction': MessageReaction,
  'message.edited': MessageEdited,
  'message.unsent': MessageUnsent,
  'message.ai_draft': AiDraft,
  'message.ai_draft_approved': AiDraftApproved,
  'message.ai_draft_rejected': AiDraftRejected,
  'line.down': LineDown,
  'line.up': LineUp,
  'ai.budget_exhausted': AiBudgetExhausted,
  'line.reputation_changed': LineReputationChanged,
  'contact.opt_out_suspected': OptOutSuspected,
  'contact.opted_out': ContactOptedOut,
  'contact.opted_in': ContactOptedIn,
  'lead.created': LeadCreated,
  'lead.updated': LeadUpdated,
  'lead.deleted': LeadDeleted,
  'campaign.completed': CampaignCompleted,
  'campaign.will_be_late': CampaignWillBeLate,
  'campaign.step': CampaignStepDone,
  'call.ended': CallEnded,
  'import.completed': ImportCompleted,
  'conversation.assigned': ConversationAssigned,
  'conversation.status_changed': ConversationStatusChanged,
  'webhook.ping': WebhookPing,
} as const satisfies Record<DeliveredEvent, z.ZodObject>;

export type EventPayload<Name extends DeliveredEvent> = z.infer<(typeof EVENT_PAYLOADS)[Name]>;
