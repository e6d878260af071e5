import fc from 'fast-check';
import { afterEach, describe, expect, it, test, vi } from 'vitest';
import { anyText } from '#test/support/any-text.ts';
import { isAutomaticText } from '../inbox/automatic-text.ts';
import { CarrierEvent } from '../lines/carrier-event.ts';
import { complainsInText } from '../lines/complaint.ts';
import { optOutSuspicion } from '../contacts/doubtful-opt-out.ts';
import { verdictPrompt } from '../contacts/opt-out-verdict.ts';
import { optOutKeyword } from '../contacts/opt-out.ts';
import { ownText, unquoted, withoutOurTexts } from '../inbox/own-words.ts';
import { plain } from '../contacts/suspected-opt-out.ts';
import { addressesIn } from '../shared/lead-columns.ts';
import { baseSubject } from '../messages/email-subject.ts';
import { templateProblem } from '../messages/template.ts';
import { normalize, shortenMarks, typedName, withoutTurns } from './text.ts';
import { textReactions } from '../inbox/text-reaction.ts';

const MARKS = '\u0301\u0316';
const HOSTILE = `a${MARKS.repeat(50_000)}`;
const LONG_RUN = /\p{M}{31}/u;

test('names of people, groups and files that arrive turn nothing around them', () => {
  const turned = 'invoice\u202Efdp.exe';
  const event = CarrierEvent.parse({
    kind: 'reply',
    eventId: 'e',
    at: new Date(),
    carrierMessageId: 'm',
    from: '+14155550123',
    fromName: '\u2067\u202EAda\u2069',
    text: turned,
    attachments: [{ name: `a/${turned}`, contentType: null, url: 'https://example.com/' }],
    autoReply: false,
    group: { id: 'g', name: turned, participants: [] },
  });
  expect(event).toMatchObject({
    fromName: 'Ada',
    text: turned,
    attachments: [{ name: 'invoicefdp.exe' }],
    group: { name: 'invoicefdp.exe' },
  });
  expect(withoutTurns('\u200F\u05D3\u05E0\u05D4 (Dana)')).toBe('\u200F\u05D3\u05E0\u05D4 (Dana)');
});

test.each(
  Array.from('\u00AD\u061C\u180E\u200B\u200C\u200D\u200E\u200F\u202A\u202E\u2060\u2064\u2066\u2069\uFEFF'),
)('what nobody sees counts nowhere: %j', (mark) => {
  expect(typedName(`Grö${mark}ße`)).toBe('Größe');
  expect(templateProblem(`{{ first${mark}Name }}`)).toContain('invisible character');
  expect(addressesIn(`ada@x.co, ${mark}bea@x.co`)).toEqual(['ada@x.co', 'bea@x.co']);
  expect(baseSubject(`${mark} Re: Lunch`)).toBe('Lunch');
  expect(unquoted(`Yes\n\n${mark}On Mon, 3 Mar 2025 at 10:00, Da${mark}na <d@x.co> wrote:\n\nHello`)).toBe(
    'Yes',
  );
});

test('a variation selector, which chooses how an emoji looks, stays', () => {
  expect(typedName('❤\uFE0F')).toBe('❤\uFE0F');
  expect(templateProblem('{{ firstName | default: "❤\uFE0F" }}')).toBeNull();
});

test('a reaction keeps an emoji that has what nobody sees', () => {
  const [technologist, england] = ['👩\u200D💻', '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}'];
  for (const emoji of [technologist, england])
    expect(textReactions(`\u2066Reacted ${emoji} to \u200C“Hello”`)).toContainEqual(
      expect.objectContaining({ emoji }),
    );
});

describe('a text with long runs of combining marks', () => {
  afterEach(() => vi.restoreAllMocks());

  it.each([
    HOSTILE,
    `STOP\n${HOSTILE}`,
    `${HOSTILE}\nSTOP`,
    `a${MARKS.repeat(90)}`,
    `Liked “${HOSTILE.slice(0, 10_000)}”`,
    'a\u0301'.repeat(50_000),
    '\uFDFA'.repeat(100_000),
  ])('is never normalized as a whole, nor with such a run', (text) => {
    const normalized = vi.spyOn(String.prototype, 'normalize');
    for (const judge of [
      optOutKeyword,
      optOutSuspicion,
      complainsInText,
      unquoted,
      isAutomaticText,
      textReactions,
      plain,
      (all: string) => ownText(all, 300),
      (all: string) => withoutOurTexts(all, [all.slice(0, 1000)]),
      (all: string) => verdictPrompt([all, all]),
    ])
      judge(text);
    for (const given of normalized.mock.contexts as string[]) {
      expect(given.length).toBeLessThanOrEqual(1200);
      expect(LONG_RUN.test(given)).toBe(false);
    }
  });

  it('is shortened once it arrives', () => {
    const event = CarrierEvent.parse({
      kind: 'reply',
      eventId: 'e',
      at: new Date(),
      carrierMessageId: 'm',
      from: '+14155550123',
      text: HOSTILE,
      attachments: [],
      autoReply: false,
    });
    expect(event).toMatchObject({ text: `a${MARKS.repeat(15)}` });
  });

  it('changes no text that people write', () => {
    for (const text of ['naïve', 'Việt', 'ก็', 'हिन्दी', 'שָׁלוֹם', '👨‍👩‍👧', `a${'\u0301'.repeat(30)}`])
      expect(shortenMarks(text)).toBe(text);
  });

  it('is at most as long as asked for, whatever its form', () => {
    fc.assert(
      fc.property(
        anyText(100),
        fc.constantFrom('NFC', 'NFD', 'NFKC', 'NFKD' as const),
        fc.nat(120),
        (text, form, max) => {
          expect(normalize(text, form, max).length).toBeLessThanOrEqual(max);
        },
      ),
    );
    expect(normalize('é', 'NFD', 10)).toBe('e\u0301');
  });
});
