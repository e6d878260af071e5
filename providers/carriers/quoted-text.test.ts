import { expect, test } from 'vitest';
import { unquoted } from './quoted-text.ts';

test.each([
  ['Gmail', 'Yes\n\nOn Mon, 3 Mar 2025 at 10:00, Dana <dana@example.com> wrote:\n\n> Hello\n', 'Yes'],
  [
    'a heading broken over lines',
    'Yes\n\nOn Mon, 3 Mar 2025 at 10:00, Dana\n<dana@example.com> wrote:\n> Hello',
    'Yes',
  ],
  ['German', 'Ja\n\nAm 3. März 2025 um 10:00 schrieb Dana <d@e.f>:\n> Hallo', 'Ja'],
  [
    'Outlook',
    'Yes\r\n\r\n________________________________\r\nFrom: Dana\r\nSent: Monday\r\n\r\nHello',
    'Yes',
  ],
  ['older Outlook', 'Yes\n\n-----Original Message-----\nFrom: Dana\n\nHello', 'Yes'],
  ['only marks', 'STOP\n\n> Hello\n>\n> Dana\n\n', 'STOP'],
  ['an answer in between stays', '> Monday?\nYes\n> Where?\nHere', '> Monday?\nYes\n> Where?\nHere'],
  ['nothing but a quote', '> Hello', '> Hello'],
  ['prose', 'On Monday I wrote: a letter.\nFrom: me', 'On Monday I wrote: a letter.\nFrom: me'],
  ['nothing', '', ''],
])('%s', (_what, text, expected) => expect(unquoted(text)).toBe(expected));

test('a text that only seems to begin a quote takes no time', () => {
  const started = performance.now();
  unquoted(`${'> a\n'.repeat(20_000)}b\n${'On '.repeat(50_000)}`);
  expect(performance.now() - started).toBeLessThan(2000);
});
