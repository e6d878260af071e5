import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { sameAs, type ListedMessage, searchListing } from './carrier-listing.ts';

const attempt = { text: 'Hello Ada', takenIds: [], isRecordLost: false, isSettled: true };
const listed = (...messages: ListedMessage[]) => ({ messages, isComplete: true });

describe('texts are the same', () => {
  it.each([
    ['It’s “ready” – see you…', 'It\'s "ready" - see you...'],
    ['line one\r\nline two', 'line one\nline two'],
    ['  Hello Ada ', 'Hello Ada'],
    ['Grüße, Zoë', 'Gru\u0308ße Zoe\u0308'],
    ['Café', 'Cafe'],
    ['½ price', '1/2 price'],
    ['Große Straße', 'Grosse Strasse'],
    ['Smørrebrød, Łódź, Œuvre', 'Smorrebrod, Lodz, OEuvre'],
    ['こんにちは、エイダ！', 'こんにちは,エイダ!'],
    ['Привет', 'Привет'],
    ['👍', ' 👍\ufe0f'],
    ['?!', '？！'],
  ])('%j and %j', (a, b) => expect(sameAs(a)(b)).toBe(true));

  it.each([
    ['Hello Ada', 'Hello Adam'],
    ['At 10', 'At 11'],
    ['👍', '👎'],
    ['Привет', 'Пока'],
    ['', 'Hello'],
    ['ok', 'book'],
  ])('but not %j and %j', (a, b) => expect(sameAs(a)(b)).toBe(false));

  it('but not one that is much longer, whatever is in it', () =>
    expect(sameAs('Hello')(`Hello${'.'.repeat(2000)}`)).toBe(false));
});

test('a message is found by its words, first by the identical text, then by the oldest', async () => {
  const messages = [
    { id: '4', text: 'Hello, Ada' },
    { id: '3', text: 'Hello Ada' },
    { id: '2', text: 'HELLO ADA' },
    { id: '1', text: 'Goodbye' },
  ];
  const idOf = async (takenIds: string[]) => {
    const found = await searchListing(listed(...messages), { ...attempt, takenIds });
    return found.kind === 'found' ? found.message.id : found.kind;
  };
  expect(await idOf([])).toBe('3');
  expect(await idOf(['3'])).toBe('2');
  expect(await idOf(['3', '2'])).toBe('4');
  expect(await idOf(['4', '3', '2'])).toBe('unknown');
  expect(await idOf(['4', '3', '2', '1'])).toBe('not_sent');
});

const listing = fc.uniqueArray(
  fc.record({ id: fc.string({ minLength: 1 }), text: fc.option(fc.string({ unit: 'grapheme' })) }),
  { selector: ({ id }) => id, maxLength: 6 },
);
const text = fc.option(fc.string({ unit: 'grapheme' }));

test('a message counts as not sent only if the whole list belongs to other attempts', async () => {
  await fc.assert(
    fc.asyncProperty(
      listing,
      text,
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      async (messages, sent, all, settled, own) => {
        const takenIds = messages.flatMap(({ id }, index) => (own || index % 2 === 0 ? [id] : []));
        const search = { text: sent, takenIds, isRecordLost: false, isSettled: settled };
        const found = await searchListing({ messages, isComplete: all }, search);
        const unowned = messages.filter(({ id }) => !takenIds.includes(id));
        if (found.kind === 'not_sent') expect([unowned, all, settled]).toEqual([[], true, true]);
        if (found.kind === 'found') expect(unowned).toContain(found.message);
        if (!settled) expect(['found', 'unreachable']).toContain(found.kind);
      },
    ),
  );
});

test('a message that the carrier lists in another form of Unicode is found', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'grapheme', minLength: 1 }).filter((sent) => /\p{L}|\p{N}/u.test(sent)),
      fc.constantFrom('NFC', 'NFD', 'NFKC', 'NFKD'),
      async (sent, form) => {
        const messages = [{ id: '1', text: ` ${sent.normalize(form)}\r\n` }];
        const found = await searchListing({ messages, isComplete: true }, { ...attempt, text: sent });
        expect(found).toEqual({ kind: 'found', message: messages[0] });
      },
    ),
  );
});

describe('if records are lost', () => {
  const search = { ...attempt, isRecordLost: true };

  it('a message with other words may be one of those whose record is lost', async () => {
    expect(await searchListing(listed({ id: '1', text: 'Goodbye' }), search)).toEqual({ kind: 'not_sent' });
    expect(await searchListing(listed({ id: '1', text: 'hello, ada!' }), search)).toMatchObject({
      kind: 'found',
    });
  });

  it.each([null, '', ' '])('a message with the text %j may be any', async (unclear) => {
    expect(await searchListing(listed({ id: '1', text: unclear }), search)).toEqual({ kind: 'unknown' });
    const withoutText = { ...search, text: unclear };
    expect(await searchListing(listed({ id: '1', text: 'Hi' }), withoutText)).toEqual({ kind: 'unknown' });
  });

  it('an incomplete list proves nothing', async () => {
    expect(await searchListing({ messages: [], isComplete: false }, search)).toEqual({ kind: 'unknown' });
  });
});
