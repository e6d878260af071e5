import type { MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';

export type Webhook = ResponseOf<'GET /api/webhooks'>['webhooks'][number];
export type Delivery = ResponseOf<'GET /api/webhooks/{id}/deliveries'>['deliveries'][number];
type EventName = Webhook['events'][number];

export const EVENTS: Record<EventName, MessageDescriptor> = {
  'message.*': msg`Everything about messages, including what later versions add`,
  'message.sent': msg`A message was sent`,
  'message.delivered': msg`A message was delivered`,
  'message.canceled': msg`A message was canceled`,
  'message.failed': msg`A message could not be sent`,
  'message.fallback': msg`A contact cannot be reached on the channel`,
  'message.opened': msg`A contact has read a message`,
  'message.reply': msg`A contact has replied`,
  'message.reaction': msg`A contact has reacted to a message`,
  'message.edited': msg`A contact has edited a message`,
  'message.unsent': msg`A contact has removed a message`,
  'message.ai_draft': msg`A draft of a reply was written`,
  'message.ai_draft_approved': msg`A draft was approved`,
  'message.ai_draft_rejected': msg`A draft was rejected`,
  'line.down': msg`A line is down`,
  'line.up': msg`A line can send again`,
  'ai.budget_exhausted': msg`The budget for AI drafts is used up`,
  'line.reputation_changed': msg`The reputation of a line has changed`,
  'contact.opt_out_suspected': msg`A contact asks to be left alone`,
  'contact.opted_out': msg`A contact opted out`,
  'contact.opted_in': msg`A contact opted in again`,
  'lead.created': msg`A lead was created`,
  'lead.updated': msg`A lead was changed`,
  'lead.deleted': msg`A lead was deleted`,
  'campaign.will_be_late': msg`A campaign will be late`,
  'campaign.step': msg`A campaign calls a webhook`,
  'campaign.completed': msg`A campaign is completed`,
  'call.ended': msg`A call ended`,
  'import.completed': msg`An import is completed`,
  'conversation.assigned': msg`A conversation was assigned`,
  'conversation.status_changed': msg`A conversation was opened, snoozed or closed`,
};
export const EVENT_NAMES = (Object.keys(EVENTS) as EventName[]).filter((name) => name !== 'message.*');

export const eventsOf = ({ events }: Webhook): string =>
  EVENT_NAMES.every((name) => events.includes(name)) ? t`All events` : events.join(', ');

export const webhookName = ({ name, url }: Webhook): string => name || new URL(url).host;

/** Whether the last finished delivery failed. */
export const isFailing = ({ lastSuccessAt, lastFailureAt }: Webhook): boolean =>
  lastFailureAt !== null && (lastSuccessAt === null || lastFailureAt > lastSuccessAt);
