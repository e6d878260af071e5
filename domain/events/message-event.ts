import { crmEcho } from './base.ts';
import type { EventPayload } from './payloads.ts';
import type { Lead } from '../contacts/lead.ts';
import type { Group } from '../inbox/group.ts';
import type { Message } from '../messages/message.ts';

/** The status events of an outbound message. */
export type MessageEventName =
  | 'message.sent'
  | 'message.delivered'
  | 'message.failed'
  | 'message.fallback'
  | 'message.canceled'
  | 'message.opened';

export interface MessageEventContext<Name extends MessageEventName> {
  data: EventPayload<Name>['data'];
  /** The full lead object, when the message has one. */
  lead?: Lead | undefined;
  group?: Group | undefined;
  campaign?: { id: string; name: string } | undefined;
}

/** Builds the body of a status event. */
export function messageEventPayload<Name extends MessageEventName>(
  event: Name,
  message: Message,
  { lead, group, campaign, data }: MessageEventContext<Name>,
  now: Date,
) {
  return {
    event,
    timestamp: now.toISOString(),
    workspaceId: message.workspaceId,
    messageId: message._id,
    message,
    data,
    ...(message.leadId !== null && { leadId: message.leadId }),
    ...(lead && { lead }),
    ...(group && { group }),
    ...(campaign && { campaignId: campaign.id, campaignName: campaign.name }),
    ...crmEcho(message),
  };
}
