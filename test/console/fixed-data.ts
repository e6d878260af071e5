import type { ReadEndpoint, ResponseOf } from '#console/api/routes.ts';

/** What the API answers in pictures, where nothing may change from one run to the next. */

/** When the pictures are taken. */
export const NOW = '2026-05-12T15:30:00.000Z';

const WORKSPACE_ID = 'org_6a0000000000000000000001';
const minutesAgo = (minutes: number): string => new Date(Date.parse(NOW) - minutes * 60_000).toISOString();
const idOf = (number: number): string => number.toString(16).padStart(24, '6a00000000');

type Line = ResponseOf<'GET /api/lines/by-user'>['lines'][number];
type Conversation = ResponseOf<'GET /api/conversations'>['conversations'][number];
type Draft = ResponseOf<'GET /api/knowledge-base/auto-replies'>['autoReplies'][number];
type ThreadItem = ResponseOf<'GET /api/conversations/{address}'>['messages'][number];
type Campaign = ResponseOf<'GET /api/campaigns'>['campaigns'][number];
type Point = ResponseOf<'GET /api/analytics/timeseries'>['series'][number];

type Attention = ResponseOf<'GET /api/attention'>['items'][number];

const attention = (kind: Attention['kind'], count: number): Attention => ({
  kind,
  reason: null,
  count,
  since: '2026-03-02T15:00:00.000Z',
  href: '/console',
});

const line = (number: number, firstName: string, lastName: string, fields: Partial<Line> = {}): Line => ({
  _id: idOf(number),
  workspaceId: WORKSPACE_ID,
  firstName,
  lastName,
  phone: `+1415555010${number}`,
  email: null,
  isActive: true,
  provisioningStatus: 'active',
  paymentStatus: 'paid',
  requestSource: 'dashboard',
  requestedChannelType: 'imessage',
  requestedLineType: 'purchased',
  capabilities: ['voice_notes', 'attachments'],
  readReceipts: 'off',
  shareContactCard: 'after_first_reply',
  paymentLinkUrl: null,
  paymentProviderInvoiceId: null,
  dailyNewConversationsLimit: 50,
  dailyTotalMessagesLimit: 150,
  hourlyNewConversationsLimit: null,
  minGapSeconds: 20,
  contactGapSeconds: 60,
  lineDownNotifications: true,
  isPaused: false,
  blocked: null,
  reputationPolicy: null,
  reputation: { state: 'healthy', score: 94 },
  usage: { date: '2026-05-12', newMessages: 12 * number, newMessagesLimit: 50, totalMessages: 48 * number },
  healthCheck: { status: 'healthy', lastCheckedAt: minutesAgo(2) },
  createdAt: minutesAgo(90_000),
  updatedAt: minutesAgo(2),
  ...fields,
});

const LINES = [
  line(1, 'Dana', 'Lee'),
  line(2, 'Marcus', 'Webb', { healthCheck: { status: 'down', lastCheckedAt: minutesAgo(1) } }),
  line(3, 'Sales', 'Desk', {
    phone: null,
    email: 'sales@harbour.example',
    requestedChannelType: 'email',
    dailyTotalMessagesLimit: 500,
  }),
  line(4, 'Ines', 'Faria', {
    provisioningStatus: 'awaiting_payment',
    phone: null,
    usage: { date: '2026-05-12', newMessages: 0, newMessagesLimit: 50, totalMessages: 0 },
  }),
];

const conversation = (
  number: number,
  name: string,
  lastMessage: string,
  minutes: number,
  fields: Partial<Conversation> = {},
): Conversation => ({
  address: `+1415555014${number}`,
  phone: `+1415555014${number}`,
  email: null,
  leadId: idOf(20 + number),
  name,
  group: null,
  lineId: idOf(1),
  tags: [],
  optedOut: false,
  lastMessage,
  lastDirection: 'in',
  lastAt: minutesAgo(minutes),
  lastUnsentAt: null,
  lastInboundAt: minutesAgo(minutes),
  lastOutboundAt: minutesAgo(minutes + 30),
  inboxHref: `/inbox/+1415555014${number}`,
  status: 'open',
  snoozedUntil: null,
  assigneeId: null,
  unread: false,
  unreadCount: 0,
  ...fields,
});

const CONVERSATIONS = [
  conversation(5, 'Hannah Weiss', 'Are dogs allowed? Ours is small and very quiet.', 4, {
    tags: ['interested'],
    assigneeId: 'user_6a0000000000000000000002',
  }),
  conversation(4, 'Luis Moreno', 'What is the deposit?', 26, { unread: true, unreadCount: 1 }),
  conversation(3, 'Aiko Tanaka', 'There would be three of us.', 190, { lastDirection: 'out' }),
  conversation(2, 'Tom Becker', 'Thanks, we took another one.', 1500, { tags: ['not interested'] }),
  conversation(1, 'Priya Raman', 'STOP', 4300, { optedOut: true }),
];

const item = (number: number, message: string, minutes: number, fields: Partial<ThreadItem>): ThreadItem => ({
  messageId: idOf(40 + number),
  direction: 'in',
  participant: null,
  message,
  at: minutesAgo(minutes),
  lineId: idOf(1),
  subject: null,
  warning: null,
  authentication: null,
  campaignId: null,
  status: null,
  deliveredAt: null,
  readAt: null,
  errorMessage: null,
  voiceNote: false,
  autoReply: false,
  originalMessageId: null,
  replyToMessageId: null,
  effect: null,
  attachmentUrls: [],
  attachmentNames: [],
  attachments: [],
  reactions: [],
  editedAt: null,
  unsentAt: null,
  isShortened: false,
  transcript: null,
  ...fields,
});

/** Newest first. */
const THREAD = [
  item(3, 'Are dogs allowed? Ours is small and very quiet.', 4, {}),
  item(2, 'Yes, on Saturday at 10 or at noon.', 30, {
    direction: 'out',
    status: 'delivered',
    readAt: minutesAgo(12),
    reactions: [
      { by: 'contact', reaction: 'love', from: '+14155550145', at: minutesAgo(11), status: 'sent' },
    ],
  }),
  item(1, 'The flat on Harbour Street is free from May: two rooms, a balcony, 1,450 a month.', 1600, {
    direction: 'out',
    status: 'delivered',
  }),
];

const draft: Draft = {
  replyId: idOf(60),
  answeredReplyId: idOf(60),
  source: 'copilot',
  status: 'drafted',
  draftMessage: 'Small dogs are welcome, Hannah. Would you like to see the flat on Saturday at 10?',
  conversationRecipient: '+14155550145',
  inboundText: 'Are dogs allowed? Ours is small and very quiet.',
  leadId: idOf(25),
  resolvedBy: null,
  heldBackBy: null,
  version: 1,
  hint: null,
  formerVersions: [],
  retrying: false,
  retryError: null,
  confidence: 0.92,
  tags: ['interested'],
  sentiment: 'positive',
  mode: 'copilot',
  approvalChannel: null,
  messageId: null,
  model: 'simulated',
  promptTokens: 310,
  completionTokens: 28,
  createdAt: minutesAgo(3),
  resolvedAt: null,
};

const DAY_MS = 86_400_000;
const point = (sent: number, daysAgo: number): Point => ({
  start: new Date(Date.parse('2026-05-12T04:00:00Z') - daysAgo * DAY_MS).toISOString(),
  end: new Date(Date.parse('2026-05-13T04:00:00Z') - daysAgo * DAY_MS).toISOString(),
  sent,
  reached: Math.round(sent * 0.8),
  fallback: 2,
  failed: daysAgo % 3,
  replied: Math.round(sent * 0.3),
  uniqueReplied: Math.round(sent * 0.2),
  repliedPct: 0.25,
  positiveReplied: Math.round(sent * 0.1),
  positivePct: 0.5,
});
const SENT = [180, 210, 40, 0, 150, 190, 230, 250, 260, 60, 10, 240, 270, 194];

const day = (held: number, daysAgo: number) => ({
  date: new Date(Date.parse(NOW) - daysAgo * DAY_MS).toISOString().slice(0, 10),
  messages: SENT[SENT.length - 1 - daysAgo] ?? 0,
  held,
  longestHoldMinutes: held > 0 ? 690 : null,
});
const HELD = [12, 22, 3, 0, 9, 14, 31, 26, 40, 4, 0, 18, 22, 7];
const QUIET_HOURS = {
  enabled: true,
  start: '09:00',
  end: '20:00',
  law: 'us' as const,
  appliesTo: ['campaign' as const, 'drip' as const],
};
const check = (name: 'spf' | 'dkim' | 'dmarc' | 'mx' | 'ptr', result: 'pass' | 'fail' | 'unknown') => ({
  name,
  result,
  found: null,
  expected: '',
  text: '',
});
const week = (optedOut: number, sent: number, weeksAgo: number) => ({
  start: new Date(Date.parse('2026-05-11T04:00:00Z') - weeksAgo * 7 * DAY_MS).toISOString(),
  end: new Date(Date.parse('2026-05-18T04:00:00Z') - weeksAgo * 7 * DAY_MS).toISOString(),
  optedOut,
  optedIn: weeksAgo % 3 === 0 ? 1 : 0,
  sent,
  optedOutShare: optedOut / sent,
});

type Change = ResponseOf<'GET /api/opt-outs/history'>['changes'][number];
const change = (number: number, minutes: number, fields: Partial<Change>): Change => ({
  _id: idOf(90 + number),
  address: `+1415555014${number}`,
  change: 'opted_out',
  source: 'reply',
  at: minutesAgo(minutes),
  replyId: idOf(100 + number),
  message: 'STOP',
  ...fields,
});

const FORECAST: ResponseOf<'POST /api/forecast'> = {
  success: true,
  completesAt: '2026-05-23T18:00:00.000Z',
  firstStepDoneAt: '2026-05-21T18:00:00.000Z',
  byDay: [],
  limitedBy: [{ reason: 'daily_new_cap', share: 1 }],
  linesFor: [
    { days: 12, lines: 3 },
    { days: 9, lines: 5 },
  ],
  finishBy: null,
};

const funnelShare = (leads: number, sent: number, [low, high]: readonly [number, number]) => ({
  leads,
  share: leads / sent,
  low,
  high,
});

const funnelCounts = {
  leads: 1240,
  reached: 1240,
  sent: 1215,
  delivered: 1187,
  read: 702,
  failed: 25,
  waiting: 0,
  upcoming: 0,
  skipped: [],
  replied: funnelShare(146, 1215, [0.1031, 0.1395]),
  optedOut: funnelShare(17, 1215, [0.0087, 0.0223]),
};

const FUNNEL: ResponseOf<'GET /api/campaigns/{id}/funnel'>['steps'] = [
  {
    stepId: '1',
    stepIndex: 0,
    messageType: 'imessage',
    isRemoved: false,
    versions: [],
    ...funnelCounts,
    variants: [
      {
        name: 'A',
        weight: 1,
        ...funnelCounts,
        leads: 621,
        reached: 621,
        sent: 610,
        delivered: 598,
        read: 340,
        failed: 11,
        replied: funnelShare(94, 610, [0.1276, 0.1849]),
        optedOut: funnelShare(10, 610, [0.0089, 0.0299]),
      },
      {
        name: 'B',
        weight: 1,
        ...funnelCounts,
        leads: 619,
        reached: 619,
        sent: 605,
        delivered: 589,
        read: 362,
        failed: 14,
        replied: funnelShare(52, 605, [0.0662, 0.1109]),
        optedOut: funnelShare(7, 605, [0.0056, 0.0237]),
      },
    ],
    comparisons: [
      {
        variants: ['A', 'B'],
        metric: 'replied',
        difference: 0.0681,
        low: 0.0319,
        high: 0.1045,
        conclusive: true,
      },
      {
        variants: ['A', 'B'],
        metric: 'optedOut',
        difference: 0.0048,
        low: -0.0092,
        high: 0.0191,
        conclusive: false,
      },
    ],
  },
  {
    stepId: '2',
    stepIndex: 1,
    messageType: 'imessage',
    isRemoved: false,
    versions: [],
    ...funnelCounts,
    reached: 1052,
    sent: 702,
    delivered: 681,
    read: 377,
    failed: 0,
    waiting: 350,
    skipped: [
      { reason: 'reply', leads: 146 },
      { reason: 'failed', leads: 25 },
      { reason: 'opt_out', leads: 17 },
    ],
    replied: funnelShare(41, 702, [0.0434, 0.0783]),
    optedOut: funnelShare(6, 702, [0.0039, 0.0185]),
    variants: [],
    comparisons: [],
  },
];

const step = {
  messageType: 'imessage' as const,
  attachmentUrls: [],
  smsFallbackEnabled: false,
};

const campaign = (number: number, name: string, requireConsent: boolean): Campaign => ({
  _id: idOf(110 + number),
  workspaceId: WORKSPACE_ID,
  name,
  description: '',
  status: 'active',
  steps: [
    {
      ...step,
      id: '1',
      message: '',
      delay: {},
      variants: [
        { body: 'Hi {{ firstName }}, the flat is free. Would you like to see it?', weight: 1 },
        { body: 'Hi {{ firstName }}, three viewings are left on Saturday.', weight: 1 },
      ],
    },
    { ...step, id: '2', message: 'Shall I keep a time for you?', delay: { days: 3 } },
  ],
  segmentId: null,
  audience: 'snapshot',
  listId: idOf(80),
  eligibleLineIds: null,
  poolId: null,
  stickinessPolicy: 'sticky',
  timezone: null,
  sendWindowStart: null,
  sendWindowEnd: null,
  allowedDaysOfWeek: null,
  quietHours: null,
  requireConsent,
  stopOnReply: true,
  version: 1,
  stepIds: ['1', '2'],
  onReply: 'stop',
  finishBy: null,
  isLate: false,
  stopWhen: [],
  needsAiPersonalization: false,
  createdByUserId: null,
  startedAt: minutesAgo(9000),
  completedAt: null,
  createdAt: minutesAgo(9000),
  updatedAt: minutesAgo(9000),
});

const none = { success: true as const, nextCursor: null };

/** The response of each endpoint that a page in a picture reads. */
const UNANSWERED = CONVERSATIONS.filter(({ lastDirection }) => lastDirection === 'in').length;

export const RESPONSES: {
  [
    E in
      | ReadEndpoint
      | 'POST /api/forecast'
      | 'POST /api/campaigns/{id}/forecast'
      | 'POST /api/compliance/quiet-hours-preview'
      | 'POST /api/conversations/{address}/presence'
  ]?: ResponseOf<E>;
} = {
  'GET /api/workspace': {
    success: true,
    workspace: {
      _id: WORKSPACE_ID,
      name: 'Harbour Homes',
      timezone: 'America/New_York',
      country: 'US',
      billingMode: 'card',
      subscriptionStatus: 'active',
      suspended: false,
      reputationPolicy: 'protect',
      aiTokensPerDay: 2_000_000,
      aiTokensUsedToday: 184_200,
      aiBudgetExhausted: false,
      contactBusy: true,
      mode: 'live',
      liveWorkspaceId: null,
      testWorkspaceId: null,
    },
    caller: { type: 'user', id: 'user_6a0000000000000000000002', name: 'Ruth Ames', role: 'org:admin' },
    agency: null,
    workspaces: [],
    operations: null,
  },
  'GET /api/workspace/limits': { success: true, limits: [] },
  'GET /api/workspace/setup': { success: true, setup: { steps: [], complete: true, dismissed: false } },
  'GET /api/lines/by-user': { lines: LINES },
  'GET /api/conversations': { ...none, conversations: CONVERSATIONS, unreadConversations: 1 },
  'GET /api/leads': { ...none, leads: [] },
  'GET /api/conversations/counts': {
    success: true,
    counts: {
      open: CONVERSATIONS.length,
      unanswered: UNANSWERED,
      unread: 1,
      mine: 0,
      unassigned: CONVERSATIONS.length,
      snoozed: 0,
      drafts: 1,
      suspected: 1,
    },
  },
  'GET /api/attention': {
    success: true,
    items: [attention('suspected_opt_outs', 1), attention('unanswered', UNANSWERED), attention('drafts', 1)],
  },
  'GET /api/conversations/{address}': {
    ...none,
    conversation: CONVERSATIONS[0] as Conversation,
    messages: THREAD,
  },
  'GET /api/conversations/{address}/notes': {
    ...none,
    notes: [
      {
        _id: idOf(90),
        address: '+14155550145',
        text: 'She asked about the cellar as well. @[user_6a0000000000000000000002], do you have the plan?',
        author: { type: 'user', id: 'user_6a0000000000000000000003', name: 'Mia Okafor' },
        mentions: [{ userId: 'user_6a0000000000000000000002', name: 'Ruth Ames' }],
        createdAt: minutesAgo(20),
      },
    ],
  },
  'POST /api/conversations/{address}/presence': {
    success: true,
    others: [
      {
        userId: 'user_6a0000000000000000000003',
        name: 'Mia Okafor',
        state: 'viewing',
        expiresAt: minutesAgo(-1),
      },
    ],
  },
  'GET /api/team': {
    success: true,
    members: [
      {
        userId: 'user_6a0000000000000000000002',
        email: 'ruth@harbour.example',
        name: 'Ruth Ames',
        role: 'org:admin',
        isOwner: true,
        joinedAt: minutesAgo(90_000),
        away: false,
        awayUntil: null,
      },
    ],
  },
  'GET /api/saved-filters': {
    ...none,
    savedFilters: [
      {
        _id: idOf(92),
        name: 'Viewings',
        view: 'open',
        search: 'tag:interested',
        shared: true,
        createdAt: minutesAgo(900),
        updatedAt: minutesAgo(900),
      },
    ],
  },
  'GET /api/snippets': {
    ...none,
    snippets: [
      {
        _id: idOf(91),
        name: 'Viewing',
        text: 'Hi {{ firstName }}, see you there.',
        createdAt: minutesAgo(900),
        updatedAt: minutesAgo(900),
      },
    ],
  },
  'GET /api/knowledge-base/auto-replies': { ...none, autoReplies: [draft] },
  'GET /api/messages': { ...none, messages: [] },
  'GET /api/lists': {
    lists: [
      {
        _id: idOf(80),
        name: 'Spring viewings',
        description: '',
        workspaceId: WORKSPACE_ID,
        createdByUserId: null,
        leadCount: 1240,
        createdAt: minutesAgo(9000),
        updatedAt: minutesAgo(9000),
      },
    ],
  },
  'GET /api/campaigns': {
    ...none,
    campaigns: [campaign(1, 'Spring viewings', true), campaign(2, 'Tenants of last year', false)],
  },
  'GET /api/campaigns/{id}': {
    success: true,
    campaign: campaign(1, 'Spring viewings', true),
    progress: { entered: 1240, running: 410, finished: 700, stopped: 130, noConsent: 25, enteredAll: true },
    waiting: [],
    personalization: null,
  },
  'GET /api/campaigns/{id}/funnel': { success: true, campaignId: idOf(111), steps: FUNNEL },
  'GET /api/pools': { ...none, pools: [] },
  'GET /api/segments': { ...none, segments: [] },
  'POST /api/forecast': FORECAST,
  'POST /api/campaigns/{id}/forecast': FORECAST,
  'GET /api/analytics/timeseries': {
    success: true,
    interval: 'day',
    timezone: 'America/New_York',
    filter: {},
    series: SENT.map((sent, index) => point(sent, SENT.length - 1 - index)),
  },
  'GET /api/opt-outs/suspected': {
    ...none,
    suspicions: [
      {
        _id: idOf(88),
        address: '+14155550147',
        leadId: null,
        replyId: idOf(89),
        message: 'Please take me off your list, we have found something.',
        status: 'open',
        certainty: 'clear',
        modelOpinion: null,
        createdAt: minutesAgo(35),
        decidedAt: null,
      },
    ],
  },
  'GET /api/opt-outs/history': {
    ...none,
    changes: [
      change(1, 4300, {}),
      change(6, 5200, { message: 'Take me off this list please, I moved to Portland' }),
      change(8, 7000, { change: 'opted_in', message: 'START' }),
      change(8, 7300, { _id: idOf(120), message: 'stop' }),
      change(9, 9000, { address: 'ola@example.com', source: 'unsubscribe', replyId: null, message: null }),
    ],
  },
  'GET /api/opt-outs/weeks': {
    success: true,
    timezone: 'America/New_York',
    weeks: [3, 5, 2, 4, 4, 1, 6, 3, 2, 2, 3, 1].map((count, index) =>
      week(count, 900 + 40 * index, 11 - index),
    ),
  },
  'GET /api/workspace/quiet-hours': { success: true, quietHours: QUIET_HOURS },
  'GET /api/workspace/frequency-cap': { success: true, frequencyCap: { messages: 3, days: 7 } },
  'GET /api/lists/{id}/consent': {
    success: true,
    channel: 'imessage',
    total: 1240,
    unreachable: 12,
    optedOut: 25,
    suppressed: 3,
    granted: 830,
    revoked: 10,
    unknown: 360,
  },
  'GET /api/lines/{id}/email-authentication': {
    checks: [
      check('spf', 'pass'),
      check('dkim', 'pass'),
      check('dmarc', 'fail'),
      check('mx', 'pass'),
      check('ptr', 'unknown'),
    ],
  },
  'GET /api/compliance': {
    success: true,
    quietHours: QUIET_HOURS,
    campaigns: { running: 2, requireConsent: 1, ownQuietHours: 0 },
    suspectedOptOuts: 1,
    suppressions: 214,
    keywords: {
      optOut: ['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT', 'REVOKE', 'OPTOUT'],
      optIn: ['START', 'UNSTOP', 'YES'],
    },
  },
  'GET /api/compliance/campaign-consents': {
    success: true,
    from: minutesAgo(43_200),
    to: NOW,
    complete: true,
    recipients: 1480,
    withoutConsent: 391,
    campaigns: [
      {
        campaignId: idOf(112),
        name: 'Tenants of last year',
        requireConsent: false,
        granted: 259,
        revoked: 4,
        unknown: 387,
      },
      {
        campaignId: idOf(111),
        name: 'Spring viewings',
        requireConsent: true,
        granted: 830,
        revoked: 0,
        unknown: 0,
      },
    ],
  },
  'POST /api/compliance/quiet-hours-preview': {
    success: true,
    from: minutesAgo(43_200),
    to: NOW,
    complete: true,
    timezone: 'America/New_York',
    messages: 2284,
    held: 208,
    longestHoldMinutes: 720,
    byReason: { hours: 171, law: 37 },
    neverSent: 0,
    byDay: HELD.map((held, index) => day(held, HELD.length - 1 - index)),
    byPlace: [
      { zones: ['America/Los_Angeles'], region: 'US-CA', messages: 410, held: 122, longestHoldMinutes: 690 },
      {
        zones: ['America/New_York', 'America/Chicago'],
        region: 'US-FL',
        messages: 350,
        held: 49,
        longestHoldMinutes: 720,
      },
      { zones: ['America/Chicago'], region: 'US-TX', messages: 220, held: 37, longestHoldMinutes: 600 },
    ],
  },
};
