import { expect, test } from 'vitest';
import { unquoted } from './quoted-text.ts';

test.each([
  [
    'a reply from Gmail',
    'Yes\n\nOn Mon, 3 Mar 2025 at 10:00, Dana <dana@example.com> wrote:\n\n> Hello\n',
    'Yes',
  ],
  [
    'a reply whose quote heading spans lines',
    'Yes\n\nOn Mon, 3 Mar 2025 at 10:00, Dana\n<dana@example.com> wrote:\n> Hello',
    'Yes',
  ],
  ['a German reply', 'Ja\n\nAm 3. März 2025 um 10:00 schrieb Dana <d@e.f>:\n> Hallo', 'Ja'],
  [
    'a reply from Outlook',
    'Yes\r\n\r\n________________________________\r\nFrom: Dana\r\nSent: Monday\r\n\r\nHello',
    'Yes',
  ],
  ['a reply from older Outlook', 'Yes\n\n-----Original Message-----\nFrom: Dana\n\nHello', 'Yes'],
  ['a reply above quote marks only', 'STOP\n\n> Hello\n>\n> Dana\n\n', 'STOP'],
  ['a reply between quotes, which stay', '> Monday?\nYes\n> Where?\nHere', '> Monday?\nYes\n> Where?\nHere'],
  ['a quote alone, which stays', '> Hello', '> Hello'],
  [
    'prose that resembles a quote heading',
    'On Monday I wrote: a letter.\nFrom: me',
    'On Monday I wrote: a letter.\nFrom: me',
  ],
  ['an empty text', '', ''],
])('unquoted returns the text of %s', (_what, text, expected) => expect(unquoted(text)).toBe(expected));

test('unquoted terminates for long repetitive texts', () => {
  // So long that an expression that takes quadratic time exceeds the timeout of the test.
  const text = `${'> a\n'.repeat(200_000)}b\n${'On '.repeat(500_000)}`;
  expect(unquoted(text)).toBe(text.trim());
});
