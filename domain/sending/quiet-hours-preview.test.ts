import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { previewQuietHours, type QuietHoursPreview, type SentMessages } from './quiet-hours-preview.ts';
import {
  firstSendTime,
  NO_QUIET_HOURS,
  type QuietHours,
  type Recipient,
  wakingHours,
} from './quiet-hours.ts';

const HOME = 'America/New_York';
const NEW_YORK: Recipient = { kind: 'campaign', campaignId: 'a', zones: [HOME], region: 'US-NY' };
const MIAMI: Recipient = { ...NEW_YORK, region: 'US-FL' };
const TOKYO: Recipient = { ...NEW_YORK, zones: ['Asia/Tokyo'], region: null };
/** A Wednesday. */
const NOON = new Date('2026-06-10T16:00:00Z');
const EVENING = new Date('2026-06-11T00:30:00Z');

const sentTo = (recipient: Recipient, ...at: Date[]): SentMessages => ({ recipient, areAnswers: false, at });

function run(
  sent: readonly SentMessages[],
  hours: Partial<QuietHours>,
  campaigns = new Map(),
): QuietHoursPreview {
  const workspace = { ...NO_QUIET_HOURS, enabled: true, ...hours };
  const steps = previewQuietHours(sent, { workspace, campaigns }, HOME);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

describe('the preview of quiet hours', () => {
  it('counts by day, place and reason, and tells the longest hold', () => {
    const preview = run([sentTo(MIAMI, NOON, EVENING), sentTo(NEW_YORK, EVENING), sentTo(TOKYO, NOON)], {
      law: 'us',
    });
    expect(preview).toEqual({
      messages: 4,
      held: 2,
      // 01:00 to 08:00 in Tokyo, and Florida allows nothing between 20:00 and 08:00.
      longestHoldMinutes: 11.5 * 60,
      byReason: { hours: 1, law: 1 },
      neverSent: 0,
      byDay: [{ date: '2026-06-10', messages: 4, held: 2, longestHoldMinutes: 690 }],
      byPlace: [
        { zones: [HOME], region: 'US-FL', messages: 2, held: 1, longestHoldMinutes: 690 },
        { zones: ['Asia/Tokyo'], region: null, messages: 1, held: 1, longestHoldMinutes: 420 },
      ],
    });
  });

  it('holds neither answers, nor other kinds of messages, nor those of campaigns with hours of their own', () => {
    const drip = { ...TOKYO, kind: 'drip', campaignId: null } as const;
    const sent = [{ ...sentTo(TOKYO, NOON), areAnswers: true }, sentTo(drip, NOON), sentTo(TOKYO, NOON)];
    expect(run(sent, {}).held).toBe(1);
    expect(run(sent, { appliesTo: ['drip'] }).held).toBe(1);
    expect(run(sent, {}, new Map([['a', { ...NO_QUIET_HOURS, enabled: false }]])).held).toBe(0);
    expect(run(sent, { enabled: false }).held).toBe(0);
  });

  it('counts what would never be sent', () => {
    const window = { timezone: 'Asia/Tokyo', start: '00:00', end: '02:00' };
    expect(run([{ ...sentTo(TOKYO, NOON), window }], {})).toMatchObject({
      held: 1,
      neverSent: 1,
      longestHoldMinutes: null,
    });
  });

  it('holds what pacing would hold, for as long', () => {
    const times = fc.date({ min: new Date('2026-01-01'), max: new Date('2026-12-31'), noInvalidDate: true });
    const clock = fc.integer({ min: 0, max: 23 }).map((hour) => `${String(hour).padStart(2, '0')}:00`);
    const recipients = fc.constantFrom(NEW_YORK, MIAMI, TOKYO, { ...TOKYO, zones: null });
    fc.assert(
      fc.property(
        times,
        recipients,
        clock,
        clock,
        fc.constantFrom('none', 'us'),
        (at, recipient, start, end, law) => {
          const workspace = { ...NO_QUIET_HOURS, enabled: true, start, end, law };
          const quiet = wakingHours({ workspace, campaigns: new Map() }, recipient, HOME);
          const until = firstSendTime({ quiet }, at);
          const { held, longestHoldMinutes, neverSent } = run([sentTo(recipient, at)], { start, end, law });
          expect(held).toBe(until?.getTime() === at.getTime() ? 0 : 1);
          expect(neverSent).toBe(until === null ? 1 : 0);
          const minutes = until && held > 0 ? Math.ceil((until.getTime() - at.getTime()) / 60_000) : null;
          expect(longestHoldMinutes).toBe(minutes);
        },
      ),
    );
  });
});
