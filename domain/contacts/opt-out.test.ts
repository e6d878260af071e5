import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '#test/support/any-text.ts';
import { growth, LINEAR } from '#test/support/growth.ts';
import { optOutKeyword } from './opt-out.ts';

const STOP = ['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT', 'REVOKE', 'OPTOUT'];
const START = ['START', 'UNSTOP', 'YES'];

describe('the text of a reply', () => {
  it.each([
    'STOP',
    'stopall',
    'Unsubscribe',
    '  stop\n',
    'STOP.',
    'stop!',
    'Stop!!!',
    'Opt out',
    'opt-out',
    'OPT OUT.',
    'Stop all',
    '“Stop”',
    '‘stop’',
    '*STOP*',
    'STOP 🛑',
    '🛑✋🏽 stop',
    'ＳＴＯＰ',
    'st\u200Bop',
    'Stop stop STOP',
    'Stop. Unsubscribe.',
    'Stop\n\nSent from my iPhone',
    'Stop\r\nGet Outlook for iOS',
    'STOP\n--\nJane Doe\nAcme Inc.',
    '-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nSTOP\n- -- \nJane Doe\n-----BEGIN PGP SIGNATURE-----\n\niQEzBAEBCAAdFiEE\n=abcd\n-----END PGP SIGNATURE-----',
    'STOP\n-- \nJane Doe',
    'Unsubscribe\n\nThanks,\nJane',
    '> We have an offer for you\n> Reply STOP to opt out\nSTOP',
    'STOP\n\nOn Tue, Nov 3, 2026 at 9:00 AM Acme <hi@acme.test> wrote:\n> Hello\n> there',
    'STOP\n\nOn Tue, Nov 3, 2026 at 9:00 AM Acme Incorporated\n<hi@acme.test> wrote:\n\nHello there',
    'Stop\n\nAm 3. November 2026 um 09:00 schrieb Acme <hi@acme.test>:\n> Hallo',
    'Stop\n\n________________________________\nFrom: Acme <hi@acme.test>\nSent: Tuesday\n\nHello',
    'Stop\n\n-----Original Message-----\nFrom: Acme\nHello',
    'On Tue, Nov 3, 2026 at 9:00 AM Acme <hi@acme.test> wrote:\n> Hello\n\nStop',
    'Hello Dana, STOP',
    'Hi! Stop.',
    'Guten Tag Frau Müller: STOP',
    'No thanks, STOP',
    'STOP, Ada',
    'Stop - Ada Lovelace',
    'STOP -Bea',
    'Stop —Ada Lovelace',
    'STOP谢谢',
    'ЅТОР',
    'SТОР',
    'SΤΟΡ.',
    'Ѕtор аll',
    'UΝSUΒSCRIΒΕ',
  ])('opts out: %j', (text) => {
    expect(optOutKeyword(text)).toBe('stop');
  });

  it.each(['START', 'unstop', ' yes ', 'Yes!', 'Ｙｅｓ', 'yes\n\nSent from my iPhone'])(
    'opts in: %j',
    (text) => {
      expect(optOutKeyword(text)).toBe('start');
    },
  );

  it.each([
    '',
    '...',
    '🛑',
    'please stop',
    'STOP it',
    'Do not stop',
    'stop by at 5',
    'STOP 5',
    'yes please',
    'yes, stop',
    'unsubscribed',
    'non-stop',
    'the end',
    'End of the month works\n\nSent from my iPhone',
    'Sounds good\n> Reply STOP to opt out',
    '> STOP',
    'On Tue, Nov 3, 2026 at 9:00 AM Acme <hi@acme.test> wrote:\n> STOP',
    'Thanks,\nJane',
    'Monday\nCancel',
    'Where do I get off?\nStop',
    'Gladly\n\n-- \nBea\nSTOP Ltd.',
    'Can we cancel\nthe meeting?',
    'Hello, bus stop',
    'Hi Stop',
    'Stop, wait',
    'Stop, Monday is fine',
    'Cancel, Ada',
    'Dana, end of the month?',
    'Тор',
    'ΤΟΠ',
    'Тест',
    'СТОП',
  ])('does neither: %j', (text) => {
    expect(optOutKeyword(text)).toBeNull();
  });

  const sign = fc.constantFrom(
    ' ',
    '.',
    '!',
    '?',
    ',',
    '"',
    '“',
    '”',
    '’',
    '*',
    '…',
    '-',
    '\n',
    '\t',
    '🙏',
    '🛑',
    '\uFE0F',
  );
  const signs = fc.array(sign, { maxLength: 8 }).map((all) => all.join(''));
  const cased = (word: string) =>
    fc
      .array(fc.boolean(), { minLength: word.length, maxLength: word.length })
      .map((upper) => word.replaceAll(/./g, (c, i: number) => (upper[i] ? c : c.toLowerCase())));
  const fullWidth = (text: string) =>
    text.replaceAll(/[A-Za-z]/g, (c) => String.fromCodePoint((c.codePointAt(0) ?? 0) + 0xfee0));

  it('is recognized as a keyword in any case, width and punctuation', () => {
    const written = fc
      .constantFrom(...STOP, ...START)
      .chain((word) => fc.tuple(fc.constant(word), cased(word), fc.boolean(), signs, signs));
    fc.assert(
      fc.property(written, ([word, text, wide, before, after]) => {
        // A line of dashes divides the text from a signature.
        fc.pre(!/^[\s]*[-*]{2,}[\s]*$/m.test(`${before}\n${after}`));
        const found = optOutKeyword(before + (wide ? fullWidth(text) : text) + after);
        expect(found).toBe(STOP.includes(word) ? 'stop' : 'start');
      }),
    );
  });

  it('is no keyword if it is only of letters of Russian, Ukrainian or Greek', () => {
    const letters = fc.constantFrom('абвгґдеёєжзиіїйклмнопрстуфхцчшщъыьэюя', 'αβγδεζηθικλμνξοπρστυφχψω');
    const words = letters.chain((alphabet) =>
      fc.string({
        unit: fc.constantFrom(...Array.from(alphabet + alphabet.toUpperCase())),
        minLength: 1,
        maxLength: 8,
      }),
    );
    fc.assert(
      fc.property(words, (text) => {
        expect(optOutKeyword(text)).toBeNull();
      }),
    );
  });

  it('is never a keyword when it contains other words', () => {
    const other = fc
      .stringMatching(/^[a-z]{1,12}$/)
      .filter((word) => ![...STOP, ...START, 'OPT', 'OUT', 'ALL', 'UN'].includes(word.toUpperCase()));
    fc.assert(
      fc.property(fc.constantFrom(...STOP, ...START), other, fc.boolean(), (word, beside, first) => {
        fc.pre(![...STOP, ...START].includes((word + beside).toUpperCase()));
        expect(optOutKeyword(first ? `${word} ${beside}` : `${beside} ${word}`)).toBeNull();
      }),
    );
  });

  it.each(['> ', '-', 'On 1 ', 'wrote: ', ' ', '\n', 'STOP\n', '\uFDFA', '\u200B', 'Sent from my ', '> a\n'])(
    'is checked in linear time when it repeats %j',
    (unit) => {
      const text = (length: number) => unit.repeat(length / unit.length);
      expect(growth(text, optOutKeyword, 50_000)).toBeLessThan(LINEAR);
    },
  );

  it('is checked without an error, whatever it contains', () => {
    fc.assert(
      fc.property(anyText(500), (text) => {
        expect([null, 'stop', 'start']).toContain(optOutKeyword(text));
      }),
    );
  });
});
