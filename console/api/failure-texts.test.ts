import { expect, test } from 'vitest';
import { textOfIssue } from './failure-texts.ts';

test.each([
  ['is required', 'This is required.'],
  ['is required: one of a, b', 'This is required.'],
  ['must not be empty', 'This is required.'],
  ['must be one of a, b', 'This is not a valid value.'],
  ['must be a whole number', 'This is not a valid value.'],
  ['must be at most 10000', 'This must be at most 10000.'],
  ['must be at least 1', 'This must be at least 1.'],
  ['must be a time zone', 'must be a time zone'],
])('what the API says about a field (%s) is said without the words of programs', (message, text) => {
  expect(textOfIssue(message)).toBe(text);
});
