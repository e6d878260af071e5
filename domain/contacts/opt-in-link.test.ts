import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { messageLinks, newOptInCode, optInCodes, optInText } from './opt-in-link.ts';

const code = fc
  .infiniteStream(fc.nat())
  .map((numbers) => newOptInCode((below) => Number(numbers.next().value) % below));

describe('codes of opt-in links', () => {
  it('are found in what the contact sends, in any case and between any words', () => {
    fc.assert(
      fc.property(code, fc.constantFrom('', '.', '!', '\n'), fc.boolean(), (one, end, isLower) => {
        const text = optInText({ text: 'Send me the offers', code: isLower ? one.toLowerCase() : one });
        expect(optInCodes(`${text}${end}`)).toEqual([one]);
      }),
    );
  });

  it.each(['Yes please', 'My number is 5550123456', 'BCDFGHJ', 'x7BCDFGHJ2', ''])(
    'are not seen in %j',
    (text) => {
      expect(optInCodes(text)).toEqual([]);
    },
  );
});

test('a link opens the message on iOS and on Android', () => {
  const line = { channel: 'imessage', phone: '+15550100', email: null } as const;
  expect(messageLinks(line, 'Join & win 2BCDFGH')).toEqual({
    to: '+15550100',
    sms: 'sms:+15550100?&body=Join%20%26%20win%202BCDFGH',
    imessage: 'imessage:+15550100?&body=Join%20%26%20win%202BCDFGH',
  });
  expect(messageLinks({ channel: 'imessage', phone: null, email: 'us@example.com' }, 'Hi')).toEqual({
    to: 'us@example.com',
    sms: null,
    imessage: 'imessage:us@example.com?&body=Hi',
  });
  expect(messageLinks({ ...line, channel: 'sms' }, 'Hi').imessage).toBeNull();
});
