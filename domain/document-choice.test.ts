import { describe, expect, it } from 'vitest';
import { chooseDocuments } from './document-choice.ts';

const filler = (words: string, length: number) => words.padEnd(length, ' lorem ipsum dolor');

describe('the documents chosen for a question', () => {
  const documents = [
    { title: 'Hours', text: filler('We open at nine.', 1500) },
    { title: 'Pets', text: filler('Dogs and cats are welcome.', 1500) },
    { title: 'Parking', text: filler('There is a garage for dogs, bicycles and cars.', 1500) },
  ];

  it('are all of them when they fit', () => {
    expect(chooseDocuments(documents, 'anything', 4500)).toEqual(documents);
  });

  it('are the relevant ones, in their original order, when not all fit', () => {
    expect(
      chooseDocuments(documents, 'May I bring two cats or dogs?', 3100).map(({ title }) => title),
    ).toEqual(['Pets', 'Parking']);
    expect(chooseDocuments(documents, 'Are CATS allowed?', 1600).map(({ title }) => title)).toEqual(['Pets']);
  });

  it('are the relevant passages of a document that exceeds the budget alone', () => {
    const long = [
      filler('Rent.', 1900),
      filler('The deposit is two months.', 1900),
      filler('Heating.', 1900),
    ].join('\n\n');
    const chosen = chooseDocuments([{ title: 'Contract', text: long }], 'How much is the deposit?', 2000);
    expect(chosen).toHaveLength(1);
    expect(chosen[0]?.text).toContain('The deposit is two months.');
    expect(chosen[0]?.text).not.toContain('Heating');
  });

  it('never exceed the budget', () => {
    const text = 'x'.repeat(50_000);
    const chosen = chooseDocuments([{ title: 'One word', text }], 'x', 6500);
    expect(chosen.reduce((sum, passage) => sum + passage.text.length, 0)).toBe(6000);
  });
});
