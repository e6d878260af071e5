import { describe, expect, it } from 'vitest';
import { LANGUAGE_CODES } from '../base/languages.ts';
import { labelledSentences } from '#test/support/opt-out-sentences.ts';
import { optOutSuspicion } from './doubtful-opt-out.ts';

const LANGUAGES: readonly string[] = LANGUAGE_CODES;
const UNSEEN = labelledSentences().filter(({ half }) => half === 'unseen');

/** How many sentences that ask, or do not, are of each class. */
function confusion(sentences: typeof UNSEEN) {
  const none = () => ({ clear: 0, doubtful: 0, none: 0 });
  const counts = { asks: none(), other: none() };
  for (const { asks, text } of sentences) counts[asks ? 'asks' : 'other'][optOutSuspicion(text)] += 1;
  return counts;
}

describe('the three classes of replies', () => {
  it('leave one request in 200 at most unnoticed on the unseen half, and ask the model about two in five others', () => {
    const { asks, other } = confusion(UNSEEN);
    expect(asks.none / UNSEEN.filter((sentence) => sentence.asks).length).toBeLessThanOrEqual(1 / 200);
    const others = other.clear + other.doubtful + other.none;
    expect(other.clear / others).toBeLessThanOrEqual(0.01);
    expect(other.doubtful / others).toBeLessThanOrEqual(0.4);
  });

  it.each(LANGUAGES)('find nearly all in %s, too', (language) => {
    const { asks, other } = confusion(UNSEEN.filter((sentence) => sentence.language === language));
    if (process.env['SHOW_CONFUSION'] === '1')
      process.stdout.write(`${language} ${JSON.stringify({ asks, other })}\n`);
    expect(asks.none).toBeLessThanOrEqual(1);
  });

  it.each(['Sounds good, see you on Monday', 'What does it cost?', 'Thanks!', '👍', ''])(
    'need no model for “%s”',
    (text) => expect(optOutSuspicion(text)).toBe('none'),
  );

  it.each([
    'Who is this?',
    'no thanks',
    'Go away',
    'Nein danke',
    'Parar de enviar',
    'no me interesa',
    'geen interesse',
  ])('leave “%s” to the model', (text) => expect(optOutSuspicion(text)).toBe('doubtful'));

  it('terminate for long repetitive texts', () => {
    for (const text of ['hor a '.repeat(50), 'not '.repeat(75), 'who is '.repeat(42), 'a'.repeat(300)])
      expect(optOutSuspicion(text)).toBe('none');
  });
});
