import { describe, expect, it } from 'vitest';
import type { WaitReason } from './wait-reasons.ts';
import { type SaidOfWait, waitingFor, type WaitingFor } from './waiting.ts';
import type { WaitingLine, WaitingMessage } from './why-it-waits.ts';

// A Thursday, 15:20 in Berlin.
const now = new Date('2026-03-05T14:20:00Z');
const later = (text: string): Date => new Date(text);
const seconds = (count: number): Date => new Date(now.getTime() + count * 1000);

const line: WaitingLine = {
  id: '6742f1c09b1e8a00d4c3b2a1',
  channel: 'imessage',
  active: true,
  down: false,
  timezone: 'Europe/Berlin',
  dailyTotal: 150,
  dailyNew: 50,
  hourlyNew: 5,
  minGapSeconds: 20,
  contactGapSeconds: 60,
  warmupStartedAt: null,
  usedUp: { hourlyNew: null, dailyNew: null, dailyTotal: null },
  lastSentAt: null,
};

interface Given {
  /** null: no line can send it. */
  line?: Partial<WaitingLine> | null;
  message?: Partial<WaitingMessage>;
  said?: Partial<SaidOfWait>;
}

function waits({ line: given, message, said }: Given): WaitingFor | null {
  const facts = { scheduledAt: now, isNew: true, isAnswer: false, ...message };
  const of = { timezone: 'Europe/Berlin', previousStep: null, lastFailure: null, ahead: 0, ...said };
  return waitingFor({ line: given === null ? { id: null } : { ...line, ...given }, message: facts }, of, now);
}

const movedTo = (holdReason: WaitReason, scheduledAt: Date): Given => ({
  message: { status: 'scheduled', holdReason, scheduledAt },
});
/** A cap that was used up, or a rest that ends, at a time. */
const usedUp = (cap: keyof WaitingLine['usedUp'], end: Date): Given => ({
  line: { usedUp: { ...line.usedUp, [cap]: end } },
});
const pause = { circuit: { state: 'open', until: seconds(30), trials: 0 } } as const;
const FLORIDA = { kind: 'message', campaignId: null, zones: ['America/New_York'], region: 'US-FL' } as const;

/** For each reason: the facts that lead to it, until when it holds, and its text. */
const REASONS: Record<WaitReason, [given: Given, until: Date | null, text: string]> = {
  scheduled: [{}, null, 'The message is next in turn on its line.'],
  workspace_suspended: [
    { line: { suspended: true, pastDue: true } },
    null,
    'The operator of this installation has suspended the workspace, so nothing is sent. The message keeps its place and is sent once the workspace is resumed.',
  ],
  subscription_past_due: [
    { line: { pastDue: true } },
    null,
    "The workspace's subscription is past due or canceled, so nothing is sent. The message keeps its place and is sent once there is a paid subscription.",
  ],
  recipient_opted_out: [
    { message: { optedOut: true } },
    null,
    'The contact has opted out of messages. This message is not sent; it ends as failed when its turn comes.',
  ],
  campaign_paused: [
    { message: { campaign: 'paused' } },
    null,
    'The campaign is paused. The message keeps its place and is sent once the campaign is resumed.',
  ],
  campaign_inactive: [
    { message: { campaign: 'draft' } },
    null,
    'The campaign is not active (draft), so the message is not sent.',
  ],
  personalization: [
    { message: { campaign: 'active', unqueued: true, holdReason: 'personalization' } },
    null,
    'The text of the message is still being written for this contact.',
  ],
  opt_out_suspected: [
    { message: { campaign: 'active', unqueued: true, holdReason: 'opt_out_suspected' } },
    null,
    'The contact seems to have asked to be left alone. The message waits until somebody confirms or dismisses that.',
  ],
  previous_step: [
    { message: { unqueued: true, holdReason: 'previous_step', scheduledAt: later('2026-03-08T08:00:00Z') } },
    null,
    'The message is a later step of its campaign. It is scheduled once the step before it has been sent.',
  ],
  no_line: [
    { line: null },
    null,
    'No line of the workspace can carry the message. It is sent once there is an active line for its channel.',
  ],
  payment_missing: [
    { line: { provisioning: 'awaiting_payment' } },
    null,
    'The line has not been paid for yet. The message is sent once the line is paid and set up.',
  ],
  line_failed: [
    { line: { provisioning: 'failed' } },
    null,
    'The line could not be set up. The message is sent once the line is requested again and is active.',
  ],
  line_not_connected: [
    { line: { unconnected: true } },
    null,
    'The line is not connected to a carrier yet. The message is sent once it is connected.',
  ],
  line_provisioning: [
    { line: { provisioning: 'provisioning' } },
    null,
    'The line is still being set up. The message is sent once the line is active.',
  ],
  line_paused: [
    { line: { paused: true } },
    null,
    'The line is paused. The message keeps its place and is sent once the line is resumed.',
  ],
  line_inactive: [
    { line: { active: false } },
    null,
    'The line is switched off. The message keeps its place and is sent once the line is switched on.',
  ],
  line_down: [
    { line: { down: true } },
    null,
    'The line is down: it failed three checks in a row. The message keeps its place and is sent once the line recovers.',
  ],
  line_resting: [
    { line: { restsUntil: later('2026-03-09T00:00:00Z') } },
    later('2026-03-09T00:00:00Z'),
    'The reputation of the line is critical, so it opens no new conversations. This message is sent on 9 March from 01:00 Europe/Berlin at the earliest, or once the line has recovered before.',
  ],
  line_changing: [
    { line: { changingUntil: seconds(5) } },
    seconds(5),
    'The line is being moved or connected to another carrier. The message will be sent shortly.',
  ],
  worker_unavailable: [
    { line: { unserved: 'carrier-twilio' } },
    null,
    'No worker serves the task queue carrier-twilio, so nothing is sent. The message is sent once a worker for it runs.',
  ],
  carrier_pause: [
    { line: { ...pause, lastFailure: 'connect ECONNREFUSED' } },
    seconds(30),
    'The carrier takes no messages at the moment (“connect ECONNREFUSED”). The next one is tried in 30 seconds.',
  ],
  credentials_refused: [
    { line: { ...pause, lastFailure: 'credentials refused: 20003: Authenticate' } },
    seconds(30),
    'The carrier refuses the credentials of the line (“20003: Authenticate”). Connect the line to its carrier again; until then it is tried again in 30 seconds.',
  ],
  carrier_retry: [
    { ...movedTo('carrier_retry', seconds(10)), said: { lastFailure: 'the carrier answered 503' } },
    seconds(10),
    'The carrier did not take the message (“the carrier answered 503”). It is tried again in 10 seconds.',
  ],
  set_aside: [
    {
      message: { unqueued: true, holdReason: 'set_aside' },
      said: { lastFailure: 'the carrier responded 413' },
    },
    null,
    'The line cannot send this message, although it sends others (“the carrier responded 413”). An operator of the installation decides whether it is tried again. It can be canceled.',
  ],
  carrier_answer: [
    { message: { status: 'sending', answerBy: seconds(20) } },
    seconds(20),
    'The message was handed to the carrier, whose answer has not come yet.',
  ],
  carrier_outcome: [
    { message: { status: 'sending', answerBy: seconds(-20) } },
    null,
    'The carrier did not answer in time. It is asked whether it took the message, which is not sent a second time.',
  ],
  fallback_sms: [
    { message: { status: 'fallback', fallbackAt: now } },
    null,
    'The contact cannot be reached on the primary channel. An SMS is sent in its place.',
  ],
  line_gap: [
    { line: { minGapSeconds: 3600, lastSentAt: seconds(-10) } },
    // The gap is jittered, but always the same for one send.
    expect.any(Date),
    expect.stringMatching(
      /^The line pauses about 3600 seconds between two messages. The next one is sent today at 1\d:\d\d Europe\/Berlin.$/,
    ),
  ],
  lead_paused: [
    { message: { unqueued: true, holdReason: 'lead_paused' } },
    null,
    'The campaign is paused for this lead, who has answered or is away. The message is sent once the lead goes on.',
  ],
  contact_busy: [
    movedTo('contact_busy', seconds(45)),
    seconds(45),
    expect.stringMatching(
      /^A member is writing with the contact, so messages of campaigns wait. This one is sent today from /,
    ),
  ],
  frequency_cap: [
    {
      ...movedTo('frequency_cap', seconds(45)),
      line: { persons: { frequencyCap: { messages: 1, days: 7 }, contactBusy: true } },
    },
    seconds(45),
    expect.stringMatching(
      /^The contact has got 1 message of campaigns within 7 days, as many as the workspace allows. This message is sent today from /,
    ),
  ],
  contact_gap: [
    movedTo('contact_gap', seconds(45)),
    seconds(45),
    'The contact was sent another message less than 60 seconds before. This one is sent in 45 seconds.',
  ],
  send_window: [
    {
      message: {
        status: 'scheduled',
        holdReason: 'send_window',
        scheduledAt: later('2026-03-06T14:00:00Z'),
        window: { timezone: 'America/New_York', start: '09:00', end: '17:00', days: [1, 2, 3, 4, 5] },
      },
    },
    later('2026-03-06T14:00:00Z'),
    'The message may be sent between 09:00 and 17:00 America/New_York on Monday, Tuesday, Wednesday, Thursday, and Friday. It is sent tomorrow from 09:00 America/New_York.',
  ],
  recipient_quiet_hours: [
    {
      line: {
        quiet: {
          workspace: { enabled: true, start: '08:00', end: '21:00', law: 'us', appliesTo: ['message'] },
          campaigns: new Map(),
        },
      },
      message: { recipient: FLORIDA, scheduledAt: later('2026-03-06T04:00:00Z') },
    },
    later('2026-03-06T13:00:00Z'),
    'It is too early or too late where the recipient is: messages are sent between 08:00 and 21:00 America/New_York and by the law of Florida. It is sent tomorrow from 08:00 America/New_York.',
  ],
  hourly_new_cap: [
    usedUp('hourlyNew', later('2026-03-05T15:00:00Z')),
    later('2026-03-05T15:00:00Z'),
    'The line has reached its limit of 5 new contacts this hour; this message is sent today from 16:00 Europe/Berlin.',
  ],
  daily_new_cap: [
    usedUp('dailyNew', later('2026-03-05T23:00:00Z')),
    later('2026-03-06T08:00:00Z'),
    'The line has reached its limit of 50 new contacts today; this message is sent tomorrow from 09:00 Europe/Berlin.',
  ],
  daily_total_cap: [
    usedUp('dailyTotal', later('2026-03-08T23:00:00Z')),
    later('2026-03-09T08:00:00Z'),
    'The line has reached its limit of 150 messages today; this message is sent on 9 March from 09:00 Europe/Berlin.',
  ],
};

describe('what a message waits for', () => {
  it.each(Object.entries(REASONS))(
    'is reported as %s, with its end and a text',
    (reason, [given, until, text]) => {
      const waiting = waits(given);
      const at = until instanceof Date ? until.toISOString() : until && expect.any(String);
      expect(waiting).toEqual({ reason, until: at, text });
    },
  );

  it('includes the cap of the warm-up', () => {
    const { line } = usedUp('dailyNew', later('2026-03-05T23:00:00Z'));
    const warmupStartedAt = later('2026-03-04T08:00:00Z');
    expect(waits({ line: { ...line, warmupStartedAt } })?.text).toContain('of 22 new contacts');
  });

  it('includes the messages ahead of it, or its scheduled time', () => {
    expect(waits({ said: { ahead: 1 } })?.text).toBe(
      'The message waits for its turn: one other message of the line is sent before it.',
    );
    expect(waits({ said: { ahead: 12 } })?.text).toBe(
      'The message waits for its turn: 12 other messages of the line are sent before it.',
    );
    const scheduled = (at: string) => waits({ message: { status: 'scheduled', scheduledAt: later(at) } });
    expect(scheduled('2026-03-05T17:05:00Z')).toMatchObject({
      reason: 'scheduled',
      until: '2026-03-05T17:05:00.000Z',
      text: 'The message is scheduled for today at 18:05 Europe/Berlin.',
    });
    expect(scheduled('2026-03-05T23:30:00Z')?.text).toContain('for tomorrow at 00:30 Europe/Berlin.');
    expect(scheduled('2027-03-01T08:00:00Z')?.text).toContain('for 1 March 2027 at 09:00 Europe/Berlin.');
  });

  it('is the reason that holds longest if there are several', () => {
    const { line: capped } = usedUp('dailyNew', later('2026-03-05T23:00:00Z'));
    const reason = (given: Given) => waits(given)?.reason;
    expect(reason({ line: { ...capped, circuit: { state: 'trial', trials: 0 } } })).toBe('daily_new_cap');
    expect(reason({ line: { ...capped, unserved: 'carrier-twilio' } })).toBe('daily_new_cap');
    expect(reason({ line: { ...capped, down: true } })).toBe('line_down');
    expect(reason({ line: { ...capped, down: true, active: false } })).toBe('line_inactive');
    expect(reason({ line: { ...capped, active: false }, message: { campaign: 'paused' } })).toBe(
      'campaign_paused',
    );
    expect(reason({ line: { pastDue: true }, message: { campaign: 'paused' } })).toBe(
      'subscription_past_due',
    );
    const retry = movedTo('carrier_retry', later('2026-03-06T08:00:00Z'));
    expect(reason({ ...retry, line: { down: true } })).toBe('carrier_retry');
    expect(reason({ ...retry, line: { active: false } })).toBe('line_inactive');
    // What moved the message no longer counts once that time has come.
    expect(reason(movedTo('carrier_retry', seconds(-1)))).toBe('scheduled');
  });

  it('is the carrier that takes nothing, also for a message that was handed to it', () => {
    const failing = { circuit: { state: 'closed', failing: true } } as const;
    expect(waits({ line: failing, message: { status: 'sending', answerBy: seconds(20) } })).toMatchObject({
      reason: 'carrier_pause',
      until: seconds(20).toISOString(),
      text: 'The carrier takes no messages at the moment. It is asked whether it took this one, which is not sent a second time.',
    });
    const refused = { ...failing, lastFailure: 'credentials refused: 20003: Authenticate' };
    expect(waits({ line: refused, message: { status: 'sending' } })).toMatchObject({
      reason: 'credentials_refused',
      until: null,
      text: 'The carrier refuses the credentials of the line (“20003: Authenticate”). Connect the line to its carrier again. It is asked whether it took this one, which is not sent a second time.',
    });
  });

  it('is nothing once the message was sent, failed or canceled', () => {
    for (const status of ['sent', 'delivered', 'fallback', 'failed', 'canceled'] as const)
      expect(waits({ line: { pastDue: true }, message: { status } })).toBeNull();
  });
});
