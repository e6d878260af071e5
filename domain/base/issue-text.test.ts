import { expect, test } from 'vitest';
import { z } from 'zod';
import { plainIssue } from './issue-text.ts';

const Distance = z.object({ days: z.number() });

test.each<[z.ZodType, unknown, string]>([
  [z.string(), undefined, 'is required'],
  [z.string(), 7, 'must be a string'],
  [z.int(), 1.5, 'must be a whole number'],
  [z.coerce.number(), 'x', 'must be a number'],
  [z.boolean(), 'yes', 'must be true or false'],
  [z.stringbool(), 'x', 'must be true or false'],
  [z.array(z.string()), 'a', 'must be an array'],
  [z.object({}), [], 'must be an object'],
  [z.enum(['a', 'b']), 'c', 'must be one of a, b'],
  [z.enum(['a', 'b']), undefined, 'is required: one of a, b'],
  [z.literal('member'), 'admin', 'must be member'],
  [
    z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b') })]),
    {},
    'must be one of a, b',
  ],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().min(2), 'a', 'must have at least 2 characters'],
  [z.string().max(3), 'abcd', 'must have at most 3 characters'],
  [z.array(z.string()).max(1), ['a', 'b'], 'must have at most 1 element'],
  [z.array(z.string()).length(2), ['a'], 'must have exactly 2 elements'],
  [z.number().min(1), 0, 'must be at least 1'],
  [z.number().positive(), 0, 'must be more than 0'],
  [z.number().max(50), 51, 'must be at most 50'],
  [z.number().multipleOf(5), 3, 'must be a multiple of 5'],
  [z.email(), 'ana', 'must be an email address'],
  [z.iso.date(), '2026', 'must be a date as YYYY-MM-DD'],
  [z.string().regex(/^\d+$/), 'a', String.raw`must match /^\d+$/`],
  [z.record(z.string().max(3), z.string()), { abcd: '' }, 'the name must have at most 3 characters'],
  [z.union([z.string(), z.number(), Distance]), true, 'must be a string, a number, or an object'],
  [z.union([z.string(), z.number(), Distance]), { days: 'a' }, 'days must be a number'],
  [z.union([z.string(), z.number()]), undefined, 'is required'],
  [z.string().max(3, 'must be short'), 'abcd', 'must be short'],
])('%# an issue says what is accepted', (schema, value, text) => {
  expect(schema.safeParse(value, { error: plainIssue }).error?.issues[0]?.message).toBe(text);
});
