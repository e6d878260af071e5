import { describe, expect, it } from 'vitest';
import { HOLD_REASONS } from './pacing.ts';
import { type WaitFacts, waitingFor, type WaitingLine, type WaitReason } from './waiting.ts';

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
  provisioning: 'active',
  connected: true,
  switchedOn: true,
  circuit: { state: 'closed' },
  heldUntil: null,
  healthReason: null,
  lastSentAt: null,
};

type Given = Partial<Omit<WaitFacts, 'message' | 'line'>> & {
  message?: Partial<WaitFacts['message']>;
  line?: Partial<WaitingLine> | null;
};

const facts = ({ message, line: given, ...rest }: Given): WaitFacts => ({
  now,
  timezone: 'Europe/Berlin',
  pastDue: false,
  optedOut: false,
  campaign: null,
  openAttempt: null,
  lastFailure: null,
  ahead: 0,
  unserved: null,
  ...rest,
  message: { status: 'pending', holdReason: null, scheduledAt: now, fallbackAt: null, ...message },
  line: given === null ? null : { ...line, ...given },
});

const movedTo = (holdReason: WaitReason, scheduledAt: Date): Given => ({
  message: { status: 'scheduled', holdReason, scheduledAt },
});
const pause = { circuit: { state: 'open', until: seconds(30), trials: 0 } } as const;

/** For each reason: the facts that lead to it, until when it holds, and its text. */
const REASONS: Record<WaitReason, [given: Given, until: Date | null, text: string]> = {
  scheduled: [{}, null, 'The message is next in turn on its line.'],
  workspace_suspended: [
    { suspended: true, pastDue: true },
    null,
    'The operator of this installation has suspended the workspace, so nothing is sent. The message keeps its place and is sent once the workspace is resumed.',
  ],
  subscription_past_due: [
    { pastDue: true },
    null,
    "The workspace's subscription is past due or canceled, so nothing is sent. The message keeps its place and is sent once there is a paid subscription.",
  ],
  recipient_opted_out: [
    { optedOut: true },
    null,
    'The contact has opted out of messages. This message is not sent; it ends as failed when its turn comes.',
  ],
  campaign_paused: [
    { campaign: 'paused' },
    null,
    'The campaign is paused. The message keeps its place and is sent once the campaign is resumed.',
  ],
  campaign_inactive: [
    { campaign: 'draft' },
    null,
    'The campaign is not active (draft), so the message is not sent.',
  ],
  personalization: [
    { campaign: 'active', message: { holdReason: 'personalization' } },
    null,
    'The text of the message is still being written for this contact.',
  ],
  opt_out_suspected: [
    { campaign: 'active', message: { holdReason: 'opt_out_suspected' } },
    null,
    'The contact seems to have asked to be left alone. The message waits until somebody confirms or dismisses that.',
  ],
  previous_step: [
    movedTo('previous_step', later('2026-03-08T08:00:00Z')),
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
    { line: { connected: false } },
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
    { line: { switchedOn: false } },
    null,
    'The line is switched off. The message keeps its place and is sent once the line is switched on.',
  ],
  line_down: [
    { line: { down: true } },
    null,
    'The line is down: it failed three checks in a row. The message keeps its place and is sent once the line recovers.',
  ],
  line_resting: [
    movedTo('line_resting', later('2026-03-09T00:00:00Z')),
    later('2026-03-09T00:00:00Z'),
    'The reputation of the line is critical, so it opens no new conversations. This message is sent on 9 March from 01:00 Europe/Berlin at the earliest, or once the line has recovered before.',
  ],
  line_changing: [
    { line: { heldUntil: seconds(5) } },
    seconds(5),
    'The line is being moved or connected to another carrier. The message will be sent shortly.',
  ],
  worker_unavailable: [
    { unserved: 'carrier-twilio' },
    null,
    'No worker serves the task queue carrier-twilio, so nothing is sent. The message is sent once a worker for it runs.',
  ],
  carrier_pause: [
    { line: pause, lastFailure: 'connect ECONNREFUSED' },
    seconds(30),
    'The carrier takes no messages at the moment (“connect ECONNREFUSED”). The next one is tried in 30 seconds.',
  ],
  credentials_refused: [
    { line: pause, lastFailure: 'credentials refused: 20003: Authenticate' },
    seconds(30),
    'The carrier refuses the credentials of the line (“20003: Authenticate”). Connect the line to its carrier again; until then it is tried again in 30 seconds.',
  ],
  carrier_retry: [
    { ...movedTo('carrier_retry', seconds(10)), lastFailure: 'the carrier answered 503' },
    seconds(10),
    'The carrier did not take the message (“the carrier answered 503”). It is tried again in 10 seconds.',
  ],
  carrier_answer: [
    { message: { status: 'sending' }, openAttempt: { answerBy: seconds(20) } },
    seconds(20),
    'The message was handed to the carrier, whose answer has not come yet.',
  ],
  carrier_outcome: [
    { message: { status: 'sending' }, openAttempt: { answerBy: seconds(-20) } },
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
      message: {
        status: 'scheduled',
        holdReason: 'recipient_quiet_hours',
        scheduledAt: later('2026-03-06T13:00:00Z'),
        quiet: { zones: ['America/New_York'], start: '08:00', end: '21:00', law: 'US-FL' },
      },
    },
    later('2026-03-06T13:00:00Z'),
    'It is too early or too late where the recipient is: messages are sent between 08:00 and 21:00 America/New_York and by the law of Florida. It is sent tomorrow from 08:00 America/New_York.',
  ],
  hourly_new_cap: [
    movedTo('hourly_new_cap', later('2026-03-05T15:00:00Z')),
    later('2026-03-05T15:00:00Z'),
    'The line has reached its limit of 5 new contacts this hour; this message is sent today from 16:00 Europe/Berlin.',
  ],
  daily_new_cap: [
    movedTo('daily_new_cap', later('2026-03-06T08:00:00Z')),
    later('2026-03-06T08:00:00Z'),
    'The line has reached its limit of 50 new contacts today; this message is sent tomorrow from 09:00 Europe/Berlin.',
  ],
  daily_total_cap: [
    movedTo('daily_total_cap', later('2026-03-09T08:00:00Z')),
    later('2026-03-09T08:00:00Z'),
    'The line has reached its limit of 150 messages today; this message is sent on 9 March from 09:00 Europe/Berlin.',
  ],
};

describe('what a message waits for', () => {
  it.each(Object.entries(REASONS))(
    'is reported as %s, with its end and a text',
    (reason, [given, until, text]) => {
      const waiting = waitingFor(facts(given));
      const at = until instanceof Date ? until.toISOString() : until && expect.any(String);
      expect(waiting).toEqual({ reason, until: at, text });
    },
  );

  it('covers every hold reason of the pacing rules', () => {
    const { idle: _, next_in_turn: __, ...reasons } = HOLD_REASONS;
    expect(Object.keys(reasons).filter((reason) => !(reason in REASONS))).toEqual([]);
  });

  it('includes the cap of the warm-up', () => {
    const given = movedTo('daily_new_cap', later('2026-03-06T08:00:00Z'));
    const warmupStartedAt = later('2026-03-04T08:00:00Z');
    expect(waitingFor(facts({ ...given, line: { warmupStartedAt } }))?.text).toContain('of 22 new contacts');
  });

  it('includes the messages ahead of it, or its scheduled time', () => {
    expect(waitingFor(facts({ ahead: 1 }))?.text).toBe(
      'The message waits for its turn: one other message of the line is sent before it.',
    );
    expect(waitingFor(facts({ ahead: 12 }))?.text).toBe(
      'The message waits for its turn: 12 other messages of the line are sent before it.',
    );
    const scheduled = (at: string) =>
      waitingFor(facts({ message: { status: 'scheduled', scheduledAt: later(at) } }));
    expect(scheduled('2026-03-05T17:05:00Z')).toMatchObject({
      reason: 'scheduled',
      until: '2026-03-05T17:05:00.000Z',
      text: 'The message is scheduled for today at 18:05 Europe/Berlin.',
    });
    expect(scheduled('2026-03-05T23:30:00Z')?.text).toContain('for tomorrow at 00:30 Europe/Berlin.');
    expect(scheduled('2027-03-01T08:00:00Z')?.text).toContain('for 1 March 2027 at 09:00 Europe/Berlin.');
  });

  it('is the reason that holds longest if there are several', () => {
    const tomorrow = movedTo('daily_new_cap', later('2026-03-06T08:00:00Z'));
    const reason = (given: Given) => waitingFor(facts(given))?.reason;
    expect(reason({ ...tomorrow, line: { down: true } })).toBe('daily_new_cap');
    expect(reason({ ...tomorrow, line: { switchedOn: false } })).toBe('line_inactive');
    expect(reason({ ...tomorrow, campaign: 'paused' })).toBe('campaign_paused');
    expect(reason({ ...tomorrow, campaign: 'paused', pastDue: true })).toBe('subscription_past_due');
    // A rule that moved the message no longer counts once that time has come.
    expect(reason(movedTo('daily_new_cap', seconds(-1)))).toBe('scheduled');
  });

  it('is nothing once the message was sent, failed or canceled', () => {
    for (const status of ['sent', 'delivered', 'fallback', 'failed', 'canceled'] as const)
      expect(waitingFor(facts({ message: { status }, pastDue: true }))).toBeNull();
  });
});
