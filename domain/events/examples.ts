import type { DeliveredEvent } from './event.ts';
import type { Lead } from '../contacts/lead.ts';
import { messageEventPayload } from './message-event.ts';
import type { Message } from '../messages/message.ts';
import { crmEcho } from './base.ts';
import type { EventPayload } from './payloads.ts';
import { pingPayload } from './ping.ts';

const WORKSPACE = 'org_6742f1c09b1e8a00d4c3b2a1';
const MESSAGE = '6742f1c09b1e8a00d4c3b2a2';
const LEAD = '6742f1c09b1e8a00d4c3b2a3';
const LINE = '6742f1c09b1e8a00d4c3b2a4';
const LIST = '6742f1c09b1e8a00d4c3b2a5';
const REPLY = '6742f1c09b1e8a00d4c3b2a6';
const SENT_AT = '2026-03-02T16:04:11.000Z';
const READ_AT = '2026-03-02T16:06:40.000Z';
const REPLIED_AT = '2026-03-02T16:09:02.000Z';
const PHONE = '+14155550142';

const message: Message = {
  _id: MESSAGE,
  workspaceId: WORKSPACE,
  message: 'Hi Ada, is the flat still on the market?',
  messageType: 'imessage',
  subject: null,
  status: 'sent',
  holdReason: null,
  fromLineId: LINE,
  poolId: null,
  recipientPhone: PHONE,
  recipientEmail: null,
  recipientName: 'Ada Lovelace',
  leadId: LEAD,
  createdByUserId: null,
  attachmentUrls: [],
  attachmentNames: [],
  voiceNote: false,
  fallbackSmsDispatched: false,
  source: 'api',
  correlationId: 'deal-4711',
  traceId: null,
  scheduledDate: null,
  batchId: null,
  stepIndex: null,
  variant: null,
  campaignId: null,
  errorMessage: null,
  sentAt: SENT_AT,
  deliveredAt: null,
  readAt: null,
  reactions: [],
  createdAt: '2026-03-02T16:04:02.000Z',
  updatedAt: SENT_AT,
};

const lead: Lead = {
  _id: LEAD,
  workspaceId: WORKSPACE,
  listId: LIST,
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'ada@example.com',
  phone: PHONE,
  emails: ['ada@example.com'],
  phones: [PHONE],
  companyName: 'Analytical Engines',
  jobTitle: 'Director',
  notes: '',
  timezone: 'America/New_York',
  contactOwnerEmail: 'owner@example.com',
  customFields: { city: 'London' },
  status: 'available',
  source: 'api',
  createdAt: '2026-02-11T09:00:00.000Z',
  updatedAt: '2026-02-11T09:00:00.000Z',
};

const answer = 'Yes, it is. Would you like to see it?';
const parentMessages = [
  {
    messageId: MESSAGE,
    message: message.message,
    sentAtUtc: SENT_AT,
    batchId: null,
    stepIndex: null,
    variant: null,
  },
];
const draftBase = {
  timestamp: '2026-03-02T16:09:30.000Z',
  workspaceId: WORKSPACE,
  messageId: REPLY,
  leadId: LEAD,
  lead: { firstName: 'Ada', lastName: 'Lovelace', phone: PHONE },
  message: 'Gladly. Does Thursday at 5 pm suit you?',
  ...crmEcho({}),
};

/** One body of each event, as the API reference shows them. */
export const EVENT_EXAMPLES: { [Name in DeliveredEvent]: EventPayload<Name> } = {
  'message.sent': messageEventPayload('message.sent', message, { lead, data: {} }, new Date(SENT_AT)),
  'message.failed': messageEventPayload(
    'message.failed',
    { ...message, status: 'failed', sentAt: null, errorMessage: 'number_not_reachable' },
    { lead, data: { error: 'number_not_reachable' } },
    new Date(SENT_AT),
  ),
  'message.fallback': messageEventPayload(
    'message.fallback',
    { ...message, status: 'fallback', sentAt: null, errorMessage: 'not_registered' },
    { lead, data: { reason: 'not_registered', checkedAddresses: [PHONE] } },
    new Date(SENT_AT),
  ),
  'message.opened': messageEventPayload(
    'message.opened',
    { ...message, status: 'delivered', readAt: READ_AT },
    { lead, data: { readAt: READ_AT } },
    new Date(READ_AT),
  ),
  'message.reply': {
    event: 'message.reply',
    timestamp: REPLIED_AT,
    workspaceId: WORKSPACE,
    messageId: REPLY,
    leadId: LEAD,
    firstName: 'Ada',
    lastName: 'Lovelace',
    phone: PHONE,
    listId: LIST,
    fromLineId: LINE,
    recipientName: 'Ada Lovelace',
    repliedAtUtc: REPLIED_AT,
    parentMessages,
    message: answer,
    originalMessageId: MESSAGE,
    originalMessage: message.message,
    lead,
    ...crmEcho({}),
    data: {
      reply: {
        leadId: LEAD,
        messageId: REPLY,
        respondedAtUtc: REPLIED_AT,
        recipientEmail: null,
        recipientPhone: PHONE,
        name: 'Ada Lovelace',
        subject: null,
        warning: null,
        authentication: null,
        parentMessages,
        recentReplies: [{ messageId: REPLY, subject: null, message: answer, receivedAtUtc: REPLIED_AT }],
      },
    },
  },
  'message.reaction': {
    event: 'message.reaction',
    timestamp: REPLIED_AT,
    workspaceId: WORKSPACE,
    messageId: MESSAGE,
    leadId: LEAD,
    message: {
      messageId: MESSAGE,
      reaction: 'love',
      removed: false,
      reactedAtUtc: REPLIED_AT,
      fromPhone: PHONE,
    },
    lead,
    ...crmEcho({}),
    data: {},
  },
  'message.edited': {
    event: 'message.edited',
    timestamp: REPLIED_AT,
    workspaceId: WORKSPACE,
    messageId: REPLY,
    leadId: LEAD,
    message: {
      messageId: REPLY,
      direction: 'in',
      message: answer,
      editedAtUtc: REPLIED_AT,
      fromPhone: PHONE,
    },
    lead,
    ...crmEcho({}),
    data: {},
  },
  'message.unsent': {
    event: 'message.unsent',
    timestamp: REPLIED_AT,
    workspaceId: WORKSPACE,
    messageId: REPLY,
    leadId: LEAD,
    message: { messageId: REPLY, direction: 'in', unsentAtUtc: REPLIED_AT, fromPhone: PHONE },
    lead,
    ...crmEcho({}),
    data: {},
  },
  'message.ai_draft': {
    event: 'message.ai_draft',
    ...draftBase,
    data: {
      replyId: REPLY,
      source: 'copilot',
      draftMessage: draftBase.message,
      conversationRecipient: PHONE,
      inboundText: answer,
      confidence: 0.86,
      mode: 'copilot',
      approveEndpoint: '/api/knowledge-base/auto-replies',
    },
  },
  'message.ai_draft_approved': {
    event: 'message.ai_draft_approved',
    ...draftBase,
    data: { replyId: REPLY, approvalChannel: 'dashboard' },
  },
  'message.ai_draft_rejected': {
    event: 'message.ai_draft_rejected',
    ...draftBase,
    data: { replyId: REPLY, approvalChannel: 'api' },
  },
  'line.down': {
    event: 'line.down',
    timestamp: REPLIED_AT,
    workspaceId: WORKSPACE,
    lineId: LINE,
    reason: 'carrier_pause',
    error: 'the carrier responded 404',
  },
  'line.up': { event: 'line.up', timestamp: REPLIED_AT, workspaceId: WORKSPACE, lineId: LINE },
  'line.reputation_changed': {
    event: 'line.reputation_changed',
    timestamp: REPLIED_AT,
    workspaceId: WORKSPACE,
    lineId: LINE,
    from: 'healthy',
    to: 'watch',
    score: 71,
    terms: [
      {
        name: 'opt_outs',
        value: 0.06,
        weight: 50,
        points: -18.2,
        text: '9 of the 150 people whom the line approached opted out (6 %, in 14 days).',
        evidence: { count: 9, of: 150, days: 14 },
      },
    ],
  },
  'ai.budget_exhausted': {
    event: 'ai.budget_exhausted',
    timestamp: SENT_AT,
    workspaceId: WORKSPACE,
    tokensPerDay: 2_000_000,
    tokensUsed: 2_000_412,
  },
  'contact.opt_out_suspected': {
    event: 'contact.opt_out_suspected',
    timestamp: SENT_AT,
    workspaceId: WORKSPACE,
    suspicionId: '6742f1c09b1e8a00d4c3b2a9',
    address: PHONE,
    leadId: LEAD,
    replyId: REPLY,
    message: 'Please take me off your list',
  },
  'conversation.assigned': {
    event: 'conversation.assigned',
    timestamp: REPLIED_AT,
    workspaceId: WORKSPACE,
    address: PHONE,
    leadId: LEAD,
    from: null,
    to: 'user_2abcDEF',
    by: { type: 'user', id: 'user_2abcDEF' },
  },
  'conversation.status_changed': {
    event: 'conversation.status_changed',
    timestamp: REPLIED_AT,
    workspaceId: WORKSPACE,
    address: PHONE,
    leadId: LEAD,
    from: 'open',
    to: 'snoozed',
    snoozedUntil: '2026-03-05T08:00:00.000Z',
    by: { type: 'user', id: 'user_2abcDEF' },
  },
  'webhook.ping': pingPayload(WORKSPACE, '6742f1c09b1e8a00d4c3b2a7', new Date(SENT_AT)),
};
