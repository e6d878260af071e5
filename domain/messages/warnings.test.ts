import { describe, expect, it } from 'vitest';
import { smsSegments } from './sms-segments.ts';
import { quietUntil, type WarnedMessage, warningsOf } from './warnings.ts';

const plain: WarnedMessage = {
  channel: 'imessage',
  text: 'Hi',
  files: 0,
  isFirst: true,
  unanswered: 0,
  quietUntil: null,
};
const codes = (message: Partial<WarnedMessage>): string[] =>
  warningsOf({ ...plain, ...message }).map(({ code }) => code);

describe('a warning', () => {
  it('is of a link or a file in a first message, and of one that may be the first', () => {
    expect(codes({ text: 'See https://example.com' })).toEqual(['first_message_link']);
    expect(codes({ text: 'See bit.ly/x2', isFirst: null })).toEqual(['first_message_link']);
    expect(codes({ text: 'Mail me: ada@example.com', files: 1 })).toEqual(['first_message_file']);
    expect(codes({ text: 'See https://example.com', files: 1, isFirst: false })).toEqual([]);
    expect(codes({ text: 'Fine, e.g. at 5.30. Ok?' })).toEqual([]);
  });

  it('is of a number that the numbering plan of its country does not have', () => {
    expect(codes({ phone: '+14155550123' })).toEqual([]);
    expect(codes({ phone: '+19995550123' })).toEqual(['number_unlikely']);
    expect(codes({ phone: null })).toEqual([]);
  });

  it('is of a contact who has not answered two messages', () => {
    expect(codes({ isFirst: false, unanswered: 1 })).toEqual([]);
    expect(codes({ isFirst: false, unanswered: 2 })).toEqual(['many_unanswered']);
    expect(codes({ isFirst: null, unanswered: null })).toEqual([]);
  });

  it('is of more than two segments of an SMS or of its substitute', () => {
    expect(codes({ channel: 'sms', text: 'a'.repeat(306) })).toEqual([]);
    expect(codes({ channel: 'sms', text: 'a'.repeat(307) })).toEqual(['sms_segments']);
    expect(codes({ text: 'a'.repeat(1000) })).toEqual([]);
    expect(codes({ fallbackText: 'a'.repeat(307) })).toEqual(['sms_segments']);
  });

  it('is of an SMS that carriers refuse because it is too long', () => {
    const [short, long] = [['sms_segments'], ['sms_segments', 'sms_too_long']];
    expect(codes({ channel: 'sms', text: 'a'.repeat(1530) })).toEqual(short);
    expect(codes({ channel: 'sms', text: 'a'.repeat(1531) })).toEqual(long);
    expect(codes({ channel: 'sms', text: 'ж'.repeat(670) })).toEqual(short);
    expect(codes({ channel: 'sms', text: 'ж'.repeat(671) })).toEqual(long);
    expect(codes({ channel: 'sms', text: 'a'.repeat(1601) })).toEqual(long);
    expect(codes({ fallbackText: 'a'.repeat(1601) })).toContain('sms_too_long');
    expect(codes({ channel: 'email', text: 'a'.repeat(1601) })).toEqual([]);
  });

  it('is of quiet hours, with the time at which it leaves, by the clock of the recipient', () => {
    const quiet = { zones: ['America/Los_Angeles'], start: '08:00', end: '21:00', law: null };
    const night = new Date('2026-06-10T09:30:00Z');
    const until = quietUntil({ quiet }, night);
    expect(codes({ quietUntil: until })).toEqual(['quiet_hours']);
    expect(warningsOf({ ...plain, quietUntil: until })[0]?.text).toContain(
      'it leaves on 2026-06-10 at 08:00 (America/Los_Angeles)',
    );
    expect(quietUntil({ quiet }, new Date('2026-06-10T18:00:00Z'))).toBeNull();
    expect(quietUntil({}, night)).toBeNull();
    // The window opens later anyway.
    const window = { timezone: 'America/Los_Angeles', start: '10:00', end: '12:00' };
    expect(quietUntil({ window, quiet }, night)).toBeNull();
  });

  it('names each field that no contact can have once, with the one that was probably meant', () => {
    const text = 'Hi {{ first_name }}, {{ customFields.paln }} {{ first_name }}';
    const found = warningsOf({ ...plain, text, subject: '{{ zodiac }}', customFields: ['plan'] });
    expect(found).toMatchObject([
      { code: 'unknown_field', name: 'first_name', suggestion: 'firstName' },
      { code: 'unknown_field', name: 'customFields.paln', suggestion: 'customFields.plan' },
      { code: 'unknown_field', name: 'zodiac', suggestion: null },
    ]);
  });
});

describe('the segments of an SMS', () => {
  it.each([
    ['', 0, 'GSM-7'],
    ['a'.repeat(160), 1, 'GSM-7'],
    ['a'.repeat(161), 2, 'GSM-7'],
    ['€'.repeat(80), 1, 'GSM-7'],
    // 76 characters of two places each fill a segment of 153.
    ['€'.repeat(81), 2, 'GSM-7'],
    ['€'.repeat(153), 3, 'GSM-7'],
    ['ж'.repeat(70), 1, 'UCS-2'],
    ['ж'.repeat(71), 2, 'UCS-2'],
    ['🙂'.repeat(35), 1, 'UCS-2'],
    ['🙂'.repeat(67), 3, 'UCS-2'],
  ])('%#: are counted as carriers do', (text, segments, encoding) => {
    expect(smsSegments(text)).toEqual({ segments, encoding });
  });
});
