import type { ResponseOf } from '#console/api/routes.ts';

export type Webhook = ResponseOf<'GET /api/webhooks'>['webhooks'][number];
export type Delivery = ResponseOf<'GET /api/webhooks/{id}/deliveries'>['deliveries'][number];
type EventName = Webhook['events'][number];

export const EVENTS: Record<EventName, string> = {
  'message.sent': 'A message was sent',
  'message.failed': 'A message could not be sent',
  'message.fallback': 'A contact cannot be reached on the channel',
  'message.opened': 'A contact has read a message',
  'message.reply': 'A contact has replied',
  'message.reaction': 'A contact has reacted to a message',
  'message.ai_draft': 'A draft of a reply was written',
  'message.ai_draft_approved': 'A draft was approved',
  'message.ai_draft_rejected': 'A draft was rejected',
  'line.reputation_changed': 'The reputation of a line has changed',
  'contact.opt_out_suspected': 'A contact asks to be left alone',
  'conversation.assigned': 'A conversation was assigned',
  'conversation.status_changed': 'A conversation was opened, snoozed or closed',
};
export const EVENT_NAMES = Object.keys(EVENTS) as EventName[];

export const eventsOf = ({ events }: Webhook): string =>
  events.length === EVENT_NAMES.length ? 'All events' : events.join(', ');

export const webhookName = ({ name, url }: Webhook): string => name || new URL(url).host;

/** Whether the last finished delivery failed. */
export const isFailing = ({ lastSuccessAt, lastFailureAt }: Webhook): boolean =>
  lastFailureAt !== null && (lastSuccessAt === null || lastFailureAt > lastSuccessAt);
