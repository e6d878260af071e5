import { z } from 'zod';
import { MAX_BODY_LENGTH } from '#domain/messages/message.ts';
import { withoutTemplates } from '#domain/messages/template.ts';

/** A tool as data: one operation of the API under a name and with a description for a model. */
export interface Tool {
  name: string;
  title: string;
  description: string;
  /** The id of the route that it calls. */
  operation: string;
  input: z.ZodObject;
  /** The fields of the request: parameters of its path, then of its query or body. Default: those of the input. */
  fields?(input: never): Record<string, unknown>;
}

const tool = <I extends z.ZodObject>(
  described: Omit<Tool, 'input' | 'fields'> & {
    input: I;
    fields?(input: z.output<I>): Record<string, unknown>;
  },
): Tool => described;

const Id = z.string().max(100);
const page = {
  limit: z.int().min(1).max(50).default(20),
  cursor: z.string().max(200).optional().describe('nextCursor of the previous page'),
};
const range = {
  campaignId: Id.optional(),
  lineId: Id.optional(),
  dateFrom: z.string().max(40).optional().describe('ISO 8601 date and time, with its offset'),
  dateTo: z.string().max(40).optional().describe('ISO 8601 date and time, with its offset'),
};
const Text = z
  .string()
  .trim()
  .min(1)
  .max(MAX_BODY_LENGTH)
  .describe('Plain text; placeholders are not filled');

const named = (address: string | undefined) =>
  address !== undefined && (address.includes('@') ? { email: address } : { phone: address });

/** No tool sends anything. Tools that write create drafts, which a person approves elsewhere. */
export const TOOLS: readonly Tool[] = [
  tool({
    name: 'search_contacts',
    title: 'Search contacts',
    description: 'Finds contacts (leads) by any part of their name, company, phone number or email address.',
    operation: 'listLeads',
    input: z.object({ search: z.string().min(1).max(200).optional(), listId: Id.optional(), ...page }),
  }),
  tool({
    name: 'list_conversations',
    title: 'List conversations',
    description: 'Lists conversations, most recent activity first.',
    operation: 'listConversations',
    input: z.object(page),
  }),
  tool({
    name: 'read_conversation',
    title: 'Read a conversation',
    description:
      'Returns the messages exchanged with one contact, newest first, with the status of each message.',
    operation: 'getConversation',
    input: z.object({ address: z.string().max(320).describe('Phone number or email address'), ...page }),
  }),
  tool({
    name: 'list_messages',
    title: 'List messages',
    description:
      'Lists outbound messages, newest first. holdReason says why a message has not been sent yet, errorMessage why it failed.',
    operation: 'listMessages',
    input: z.object({
      leadId: Id.optional(),
      lineId: Id.optional(),
      campaignId: Id.optional(),
      status: z.string().max(40).optional().describe('For example scheduled, delivered or failed'),
      ...page,
    }),
  }),
  tool({
    name: 'explain_message',
    title: 'Explain a message',
    description: 'Returns what has happened to a message, step by step, and what it waits for.',
    operation: 'getMessageTimeline',
    input: z.object({ messageId: Id }),
    fields: ({ messageId }) => ({ id: messageId }),
  }),
  tool({
    name: 'list_lines',
    title: 'List lines',
    description:
      "Lists the phone numbers and mailboxes that send, with their health, limits and today's usage.",
    operation: 'listLines',
    input: z.object({}),
  }),
  tool({
    name: 'line_pace',
    title: 'Pace of a line',
    description: 'Returns how much of its limits a line has used, what it sends next, and why not now.',
    operation: 'getLinePace',
    input: z.object({ lineId: Id }),
    fields: ({ lineId }) => ({ id: lineId }),
  }),
  tool({
    name: 'line_reputation',
    title: 'Reputation of a line',
    description: 'Returns how recipients react to the messages of a line, the effect on its pace, and why.',
    operation: 'getLineReputation',
    input: z.object({ lineId: Id }),
    fields: ({ lineId }) => ({ id: lineId }),
  }),
  tool({
    name: 'list_campaigns',
    title: 'List campaigns',
    description: 'Lists campaigns, newest first.',
    operation: 'listCampaigns',
    input: z.object({ status: z.string().max(40).optional(), ...page }),
  }),
  tool({
    name: 'campaign_progress',
    title: 'Progress of a campaign',
    description: 'Returns a campaign with its steps, and how many of its contacts are at each stage.',
    operation: 'getCampaign',
    input: z.object({ campaignId: Id }),
    fields: ({ campaignId }) => ({ id: campaignId }),
  }),
  tool({
    name: 'campaign_forecast',
    title: 'Forecast of a campaign',
    description:
      'Predicts when a campaign finishes, or would finish if it were started or resumed now, and what limits it.',
    operation: 'forecastCampaign',
    input: z.object({ campaignId: Id }),
    fields: ({ campaignId }) => ({ id: campaignId }),
  }),
  tool({
    name: 'analytics',
    title: 'Analytics',
    description: 'Counts messages, deliveries, failures and replies, of all messages or of those that match.',
    operation: 'getAnalytics',
    input: z.object(range),
  }),
  tool({
    name: 'analytics_over_time',
    title: 'Analytics over time',
    description: 'The same counts per hour, day or week.',
    operation: 'getAnalyticsTimeseries',
    input: z.object({ ...range, interval: z.enum(['hour', 'day', 'week']).optional() }),
  }),
  tool({
    name: 'list_drafts',
    title: 'List drafts',
    description: 'Lists drafts, newest first. Drafts with the status drafted wait for a person.',
    operation: 'listAutoReplies',
    input: z.object({ status: z.string().max(40).optional(), ...page }),
  }),
  tool({
    name: 'draft_reply',
    title: 'Draft a reply',
    description:
      'Writes a draft that answers a contact, named by their address or by the id of one of their replies. It is not sent: a person approves, edits or rejects it. It replaces the open draft of the conversation.',
    operation: 'createDraft',
    input: z.object({
      address: z.string().max(320).optional().describe('Phone number or email address'),
      replyId: Id.optional(),
      message: Text,
    }),
    fields: ({ address, replyId, message }) => ({
      replyId,
      ...named(address),
      message: withoutTemplates(message),
    }),
  }),
  tool({
    name: 'draft_message',
    title: 'Draft a message',
    description:
      'Writes a draft to a contact who may not have written, named by phone, email or leadId. It is not sent: a person approves, edits or rejects it. It replaces the open draft of the conversation.',
    operation: 'createDraft',
    input: z.object({
      phone: z.string().max(40).optional(),
      email: z.string().max(320).optional(),
      leadId: Id.optional(),
      message: Text,
    }),
    fields: ({ message, ...contact }) => ({ ...contact, message: withoutTemplates(message) }),
  }),
];
