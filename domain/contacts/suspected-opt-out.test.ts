import { describe, expect, it } from 'vitest';
import { labelledSentences, type Sentence } from '#test/support/opt-out-sentences.ts';
import { asksToBeLeftAlone } from './suspected-opt-out.ts';

const SENTENCES = labelledSentences();
const LANGUAGES = ['en', 'es', 'fr', 'de', 'pt', 'it', 'nl'];

/** How many sentences that ask, or do not, are told to ask, or not. */
function confusion(sentences: readonly Sentence[]) {
  const counts = { found: 0, missed: 0, alarms: 0, quiet: 0 };
  for (const { asks, text } of sentences) {
    const told = asksToBeLeftAlone(text);
    if (asks) counts[told ? 'found' : 'missed'] += 1;
    else counts[told ? 'alarms' : 'quiet'] += 1;
  }
  const { found, missed, alarms } = counts;
  return { ...counts, precision: found / (found + alarms), recall: found / (found + missed) };
}

describe('the rules for suspected opt-outs', () => {
  it('are measured on at least 1,000 sentences of seven languages, half of them unseen', () => {
    expect(SENTENCES.length).toBeGreaterThanOrEqual(1000);
    const unseen = SENTENCES.filter(({ half }) => half === 'unseen');
    expect(unseen.length / SENTENCES.length).toBeGreaterThan(0.45);
    expect(new Set(SENTENCES.map(({ language }) => language))).toEqual(new Set(LANGUAGES));
  });

  it('have a precision of 0.98 and a recall of 0.9 on the unseen half', () => {
    const { precision, recall } = confusion(SENTENCES.filter(({ half }) => half === 'unseen'));
    expect(precision).toBeGreaterThanOrEqual(0.98);
    expect(recall).toBeGreaterThanOrEqual(0.9);
  });

  it.each(LANGUAGES)('find most in %s, too', (language) => {
    const { precision, recall, ...counts } = confusion(
      SENTENCES.filter((sentence) => sentence.half === 'unseen' && sentence.language === language),
    );
    if (process.env['SHOW_CONFUSION'] === '1')
      process.stdout.write(`${language} ${JSON.stringify({ ...counts, precision, recall })}\n`);
    expect(precision).toBeGreaterThanOrEqual(0.9);
    expect(recall).toBeGreaterThanOrEqual(0.8);
  });

  it.each([
    'ARRET',
    'Arrêt svp',
    'annuler',
    'BAJA',
    'Alto.',
    'ALTO YA',
    'PARAR',
    'Detener',
    'Cancelar',
    'SAIR',
    'Desinscrever',
    'STOPP',
    'Stopp!',
    'bitte stoppen',
    'Cancellami',
    'stoppen aub',
  ])('know the keyword “%s” of other languages', (text) => {
    expect(asksToBeLeftAlone(text)).toBe(true);
  });

  it.each([
    'stop sending me these',
    'I said stop',
    'I already told you to stop',
    'quit it',
    'Cancellatemi',
    'Toglietemi',
    'Mi cancelli',
    'Ho detto basta',
    'Borradme',
    'Dadme de baja',
    'Ya dije que paren',
    'Je vous ai dit stop',
    'Ich habe Stopp gesagt',
    'Remova-me',
    'Eu disse pare',
    'Ik zei stop',
    'Do not disturb me',
  ])('find “%s”', (text) => {
    expect(asksToBeLeftAlone(text)).toBe(true);
  });

  it.each([
    'Unsubscribe the other email but keep texting',
    'I have Do Not Disturb turned on',
    'I was in do not disturb mode',
    'Stop by anytime',
    'Take my other number off but keep this one',
    'Stop sending to my work email, use this one',
    'Please don’t stop sending these',
  ])('let “%s” pass', (text) => expect(asksToBeLeftAlone(text)).toBe(false));

  it.each(['¡Qué alto!', 'El precio baja', 'Vamos a parar aquí', 'Er stoppt', 'Vou sair'])(
    'do not take “%s” for one',
    (text) => expect(asksToBeLeftAlone(text)).toBe(false),
  );

  it('look at what the contact wrote, and not at what is quoted', () => {
    expect(asksToBeLeftAlone('Sounds good!\n\nOn Monday, Ada wrote:\n> Please stop texting me')).toBe(false);
    expect(asksToBeLeftAlone('')).toBe(false);
    expect(asksToBeLeftAlone(`Please stop texting me ${'and so on '.repeat(100)}`)).toBe(false);
  });

  it('terminate for long repetitive texts', () => {
    for (const text of [
      'stop '.repeat(60),
      'a '.repeat(150),
      'remove my my my '.repeat(18),
      'no '.repeat(99),
    ])
      expect(asksToBeLeftAlone(text)).toBe(false);
  });
});
