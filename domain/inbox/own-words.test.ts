import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { HEADINGS_REPORTED, QUOTATIONS, SIGNATURES, SIGNATURES_REPORTED } from '#test/fixtures/quotations.ts';
import { anyText } from '#test/support/any-text.ts';
import { growth, LINEAR } from '#test/support/growth.ts';
import { optOutKeyword } from '../contacts/opt-out.ts';
import { lettersOnly, ownLines, ownText, unquoted, withoutOurTexts, writtenPart } from './own-words.ts';

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

describe.each(Object.entries(QUOTATIONS))(
  'what somebody wrote above a quotation (%s)',
  (_program, quotation) => {
    it.each(['\n\n', '\n', '\r\n\r\n', '\n\u00A0\n'])('is told from it', (gap) => {
      const text = `Ja, gern.${gap}${quotation.replaceAll('\n', gap.includes('\r') ? '\r\n' : '\n')}`;
      expect(unquoted(text)).toBe('Ja, gern.');
      expect(ownLines(text)).toEqual(['Ja, gern.']);
      expect(optOutKeyword(text)).toBeNull();
    });

    it('opts out with a keyword, and only there', () => {
      expect(optOutKeyword(`STOP\n\n${quotation}`)).toBe('stop');
      expect(optOutKeyword(quotation)).toBeNull();
      expect(optOutKeyword(quotation.replaceAll(/To stop.*/g, 'STOP'))).toBeNull();
    });
  },
);

describe('a keyword above a signature', () => {
  it.each(SIGNATURES)('opts out: %j', (signature) => {
    for (const text of [`STOP\n\n${signature}`, `Stop.\n${signature}`, `unsubscribe\r\n\r\n\r\n${signature}`])
      expect(optOutKeyword(text)).toBe('stop');
    expect(optOutKeyword(`STOP\n${signature}\n\n${QUOTATIONS['Outlook, German']}`)).toBe('stop');
  });

  it.each([
    'Stop. Thanks',
    'stop thanks',
    'Thanks, stop',
    'STOP danke',
    'stop, merci',
    'Vielen Dank. Stop!',
    'Gracias. STOP',
  ])('opts out with thanks beside it: %j', (text) => expect(optOutKeyword(text)).toBe('stop'));

  it.each([
    'Hi,\n\n-- \nBea\nHead of Sales\n\nSTOP',
    'Bea Example\nCEO\n\nSTOP',
    'Sent from my iPhone\n\nSTOP',
    'Dana,\n\nSTOP',
    'Best,\nBea\n\nOn Thu, Nov 26, 2026 at 9:00 AM Dana <d@l.example> wrote:\n> Monday?\n\nSTOP',
    'Sounds good\n\nBest\nBea\n\nunsubscribe',
    'Hello Dana,\nSTOP',
    'Guten Tag,\n\nStop\n\nMfG',
  ])('opts out below a name, a greeting or a signature: %j', (text) =>
    expect(optOutKeyword(text)).toBe('stop'),
  );

  it('opts out whatever follows in other lines', () => {
    fc.assert(
      fc.property(fc.constantFrom('STOP', 'Stop.', ' unsubscribe ', '“Quit”'), anyText(200), (word, rest) => {
        expect(optOutKeyword(`\n${word}\n${rest}`)).toBe('stop');
      }),
    );
  });

  it('is more than a part of a sentence', () => {
    for (const text of [
      'Please do not stop\n\nAda',
      'Thanks for the stop over',
      'Danke, ich stop by',
      'Non-stop, merci',
    ])
      expect(optOutKeyword(text)).toBeNull();
  });
});

describe('what somebody wrote themselves', () => {
  it.each([
    ['From: Berlin\nTo: Munich\nOn Friday, please', 'a journey'],
    ['Von: Berlin\nNach: Wien', 'a German journey'],
    ['We have two options:\n1. Monday\n2. Tuesday', 'a list'],
    ['I can at 10:00 or 11:30:\nwhich one?', 'times'],
    ['On Monday I wrote: a letter.\nFrom: me', 'prose'],
  ])('stays, also %2$s', (text) => expect(unquoted(text)).toBe(text));

  it('is above, below and between what is quoted under a heading', () => {
    const heading = 'On Thu, Nov 26, 2026 at 9:00 AM Dana <dana@line.example> wrote:';
    expect(ownLines(`${heading}\n> Monday?\n\nYes\n\n> Where?\n\nHere`)).toEqual(['Yes', 'Here']);
    expect(unquoted(`Hi,\n\n${heading}\n> Monday?\n\nYes`)).toBe('Hi,\n\n\nYes');
    expect(ownLines(`Yes\n${heading}\n> A line that is so long that\nwrapped\n> it goes on`)).toEqual([
      'Yes',
    ]);
  });

  it('ends at a signature', () => {
    for (const signature of SIGNATURES.slice(0, -3).filter((text) => !text.startsWith('Yahoo')))
      expect(ownLines(`Yes, on Monday.\n\n${signature}`), signature).toEqual(['Yes, on Monday.']);
  });

  it.each(HEADINGS_REPORTED)('ends at a quotation: %j', (quotation) => {
    expect(writtenPart(`Good, Monday suits me.\n\n${quotation}`)).toBe('Good, Monday suits me.');
    expect(ownLines(`Good, Monday suits me.\n${quotation}`)).toEqual(['Good, Monday suits me.']);
  });

  it.each(SIGNATURES_REPORTED)('ends at a signature: %j', (signature) =>
    expect(ownLines(`Good, Monday suits me.\n\n${signature}`)).toEqual(['Good, Monday suits me.']),
  );

  it.each([
    'Sent by DHL on Monday.',
    'Sent from the warehouse yesterday, it should arrive today.',
    'Sent with UPS, tracking 1Z999',
    'We shipped it.\nSent via courier, no tracking.',
    'Thanks for the offer.\nBest price you can do?',
    'I can do Monday.\nCheers would be Tuesday.',
    'Take care of the invoice please\nand the rest',
    'Love it\nwhen can we start?',
    'Von meinem Chef kam grünes Licht.',
    'OK\nVon meiner Seite passt alles',
    'Danke, passt.\nGrüße an Tom richte ich aus!',
    '20 chairs\n----\n3 tables',
    'Outlook for Windows shows an error, can you help?',
    'Get Outlook running first, then call me',
  ])('is kept: %j', (text) => {
    expect(ownLines(text).join('\n')).toBe(text);
    expect(writtenPart(text)).toBe(text);
  });

  it('does not contain a quoted line that is long', () => {
    const text = `Yes\n\nOn Thu, Nov 26, 2026 at 9:00 AM Dana <dana@line.example> wrote:\n> Hi\n> ${'a '.repeat(300)}\n`;
    expect(ownLines(text)).toEqual(['Yes']);
  });

  it('is thanks alone, but nothing that a device added', () => {
    expect(ownLines('Thanks!')).toEqual(['Thanks!']);
    expect(ownLines('Hi Dana,\nit is fine.\nThanks\nplease call me on Monday')).toEqual([
      'it is fine.',
      'Thanks',
      'please call me on Monday',
    ]);
    expect(ownLines('Sent from my iPhone')).toEqual([]);
    expect(ownLines('Thanks for the photo that I sent from my iPhone yesterday, see you')).toHaveLength(1);
    expect(ownLines('Best price in town!')).toEqual(['Best price in town!']);
  });

  it('is never longer than the text, and part of it', () => {
    const part = fc.oneof(
      anyText(40),
      fc.constantFrom(...Object.values(QUOTATIONS), ...SIGNATURES, '\n', '> ', 'STOP', ': '),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const text = parts.join('\n');
        for (const line of ownLines(text))
          expect(text.replaceAll(/[\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]/g, ' ')).toContain(line);
        expect(unquoted(text).length).toBeLessThanOrEqual(text.length);
        const own = ownText(text, 100);
        expect(own === null || own.length <= 100).toBe(true);
      }),
    );
  });

  it.each([
    '> ',
    '-',
    'On 1 ',
    'wrote: ',
    ' ',
    '\n',
    'From: a@b\n',
    'On 1.1.2026 9:00 a b:\n',
    'a: ',
    '<a@b> 2026:\n',
    'Thanks, ',
    '\u00A0',
  ])('is found in linear time when a text repeats %j', (unit) => {
    const text = (length: number) => unit.repeat(length / unit.length);
    expect(growth(text, (long) => [unquoted(long), ownText(long, 300)], 40_000)).toBeLessThan(LINEAR);
  });
});

describe('a text of ours that somebody quotes', () => {
  const ours = 'Hi Ada, your table is booked. To stop texting you, reply STOP.';

  it.each([
    [`Great!\n${ours}`, 'Great!\n.'],
    [`“${ours}” – what is that?`, '“.” – what is that?'],
    ['> Hi Ada, your table is\n> booked. To stop\n> texting you, reply STOP.\nOk', '> .\nOk'],
    [ours.toUpperCase(), '.'],
    ['Reagoi viestiin “Hi Ada, your table is booked. To stop texting…”', 'Reagoi viestiin “…”'],
  ])('is taken out: %j', (text, rest) => expect(withoutOurTexts(text, [ours])).toBe(rest));

  it('is left if it is short enough to be their own', () => {
    expect(withoutOurTexts('Yes please', ['Yes'])).toBe('Yes please');
    expect(withoutOurTexts('STOP', ['Reply STOP'])).toBe('STOP');
  });

  it('is taken out once its beginning stands elsewhere, and together with others that overlap it', () => {
    const other = 'Your table is booked. To stop texting you, reply STOP. See you at eight!';
    expect(withoutOurTexts(`Hi Ada, your table is green? ${ours} ${other} Ok`, [ours, other])).toBe(
      'Hi Ada, your table is green? . ! Ok',
    );
    expect(withoutOurTexts(`${ours} See you at eight!`, [ours, other])).toBe('. See you at eight!');
    expect(withoutOurTexts('ﷺ said: ﷺ is greater', ['ﷺ is greater'])).toBe('ﷺ said: ');
  });

  it('is looked for in linear time, however many of them are quoted', () => {
    const conversation = (length: number) => {
      const sent = Array.from(
        { length: length / 50 },
        (_, index) => `${index} is what we wrote to Ada ${index * 7919}`,
      );
      return { sent, reply: sent.join('\n') };
    };
    const work = ({ sent, reply }: ReturnType<typeof conversation>) => withoutOurTexts(reply, sent);
    expect(growth(conversation, work, 4000)).toBeLessThan(LINEAR);
  });

  it('is found whatever surrounds it and however it is wrapped', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z]{20,40}$/),
        fc.stringMatching(/^[A-ZÄß🙂0-9]{0,20}$/u),
        fc.constantFrom('\n> ', ' ', '\u00A0', '-'),
        (sent, own, gap) => {
          const wrapped = sent.replaceAll(/(.{7})/g, `$1${gap}`);
          expect(lettersOnly(withoutOurTexts(`${own}${gap}${wrapped}${gap}${own}`, [sent]))).toBe(
            lettersOnly(own + own),
          );
        },
      ),
    );
  });
});
