import { expect, test } from 'vitest';
import { matchesWords, searchForm } from './search-form.ts';

test('a search ignores case and accents, of either side', () => {
  expect(searchForm('Fernández ÅKESSON Łódź Straße Øre')).toBe('fernandez akesson lodz strasse ore');
  expect(matchesWords('Campañas y líneas', 'LIN')).toBe(true);
  expect(matchesWords('Campanas', 'campañ')).toBe(true);
  expect(matchesWords('Campañas', 'panas')).toBe(false);
  expect(matchesWords('Anything', '')).toBe(true);
});
