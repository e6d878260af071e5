import { expect, test } from 'vitest';
import { z } from 'zod';
import { textOfIssue } from './failure-texts.ts';

test.each([
  [z.string(), undefined, 'This is required.'],
  [z.string().min(1), '', 'This is required.'],
  [z.enum(['a', 'b']), 'c', 'This is not a valid value.'],
  [z.string(), 1, 'This is not a valid value.'],
  [z.int().max(10_000), 99_999, 'This must be at most 10000.'],
  [z.int().min(1), 0, 'This must be at least 1.'],
  [z.string().refine(() => false, 'must be a time zone'), 'x', 'must be a time zone'],
])('what the parser says is said without its words', (schema, value, text) => {
  expect(textOfIssue(schema.safeParse(value).error?.issues[0]?.message ?? '')).toBe(text);
});
