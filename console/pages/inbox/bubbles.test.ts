import { expect, test } from 'vitest';
import { bubblesOf } from './bubbles.ts';

test('a text is split at its blank lines, and nowhere else', () => {
  expect(bubblesOf('One\nline\n\nTwo\n \t\n\n\nThree\n')).toEqual(['One\nline', 'Two', 'Three']);
  expect(bubblesOf('One')).toEqual(['One']);
  expect(bubblesOf(' \n\n')).toEqual([]);
});
