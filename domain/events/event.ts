import { z } from 'zod';

/** The events a workspace can subscribe to; their bodies are in `events/`. */
export const EVENT_NAMES = [
  'message.sent',
  'message.delivered',
  'message.failed',
  'message.fallback',
  'message.canceled',
  'message.opened',
  'message.reply',
  'message.reaction',
  'message.edited',
  'message.unsent',
  'message.ai_draft',
  'message.ai_draft_approved',
  'message.ai_draft_rejected',
  'line.down',
  'line.up',
  'ai.budget_exhausted',
  'line.reputation_changed',
  'contact.opt_out_suspected',
  'contact.opted_out',
  'contact.opted_in',
  'lead.created',
  'lead.updated',
  'lead.deleted',
  'campaign.completed',
  'campaign.will_be_late',
  'campaign.step',
  'call.ended',
  'import.completed',
  'conversation.assigned',
  'conversation.status_changed',
] as const;
export const EventName = z.enum(EVENT_NAMES).meta({ id: 'EventName' });
export type EventName = z.infer<typeof EventName>;

/** What a webhook subscribes to: an event, or all about messages, also those that later releases add. */
export const EventPattern = z.enum([...EVENT_NAMES, 'message.*']).meta({ id: 'EventPattern' });
export type EventPattern = z.infer<typeof EventPattern>;

/** All events that can be delivered: those above and the test ping, which cannot be subscribed to. */
export const DeliveredEvent = z.enum([...EVENT_NAMES, 'webhook.ping']).meta({ id: 'DeliveredEvent' });
export type DeliveredEvent = z.infer<typeof DeliveredEvent>;

/** The body of an event whose contact was erased. It is neither delivered nor streamed any more. */
export const ERASED_BODY = '{}';
