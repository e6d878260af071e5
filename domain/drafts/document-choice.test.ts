import { describe, expect, it } from 'vitest';
import { choosePassages, passagesOf, wordsOf } from './document-choice.ts';
import type { KnowledgeDocument } from './knowledge-base.ts';

const filler = (words: string, length: number) => words.padEnd(length, ' lorem ipsum dolor');

/** The passages chosen for a question. */
async function chosen(documents: readonly KnowledgeDocument[], question: string, budget: number) {
  const passages = await passagesOf(documents);
  const asked = wordsOf(question);
  const matches = passages.map(({ text, words }, position) => ({
    position,
    size: text.length,
    words: words.filter((word) => asked.includes(word)),
  }));
  return choosePassages(matches, budget).map((position) => passages[position]);
}

describe('the passages chosen for a question', () => {
  const documents = [
    { title: 'Hours', text: filler('We open at nine.', 1500) },
    { title: 'Pets', text: filler('Dogs and cats are welcome.', 1500) },
    { title: 'Parking', text: filler('There is a garage for dogs, bicycles and cars.', 1500) },
  ];
  const titles = async (question: string, budget: number) =>
    (await chosen(documents, question, budget)).map((passage) => passage?.title);

  it('are all of them when they fit', async () => {
    expect(await titles('anything', 4500)).toEqual(['Hours', 'Pets', 'Parking']);
  });

  it('are the relevant ones, in their original order, when not all fit', async () => {
    expect(await titles('May I bring two cats or dogs?', 3100)).toEqual(['Pets', 'Parking']);
    expect(await titles('Are CATS allowed?', 1600)).toEqual(['Pets']);
  });

  it('are the relevant passages of a document that exceeds the budget alone', async () => {
    const text = [
      filler('Rent.', 1900),
      filler('The deposit is two months.', 1900),
      filler('Heating.', 1900),
    ].join('\n\n');
    const found = await chosen([{ title: 'Contract', text }], 'How much is the deposit?', 2000);
    expect(found).toHaveLength(1);
    expect(found[0]?.text).toContain('The deposit is two months.');
    expect(found[0]?.text).not.toContain('Heating');
  });

  it('never exceed the budget', async () => {
    const found = await chosen([{ title: 'One word', text: 'x'.repeat(50_000) }], 'x', 6500);
    expect(found.reduce((sum, passage) => sum + (passage?.text.length ?? 0), 0)).toBe(6000);
  });

  it('contain whole characters', async () => {
    const text = 'x' + '🐕'.repeat(5000);
    const passages = await passagesOf([{ title: 'Dogs', text }]);
    expect(passages.map((passage) => passage.text).join('')).toBe(text);
    expect(passages.every((passage) => passage.text.isWellFormed())).toBe(true);
  });
});
