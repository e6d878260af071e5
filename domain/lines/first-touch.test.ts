import { describe, expect, it } from 'vitest';
import { growth, LINEAR } from '#test/support/growth.ts';
import { hasLink } from './first-touch.ts';

describe('a link', () => {
  it.each([
    'see https://example.test',
    'HTTP://EXAMPLE.TEST',
    'www.example.test',
    'example.com',
    'Look at my-shop.link/a, please.',
    'ada@example.com or example.com?',
  ])('is in %j', (text) => expect(hasLink(text)).toBe(true));

  it.each([
    '',
    'Hello.',
    'ada@example.com',
    'mailto:ada@my.example.com',
    'end.community',
    'a .com',
    'v1.2.3',
  ])('is not in %j', (text) => expect(hasLink(text)).toBe(false));

  it.each([
    ['one long word', (length: number) => 'x'.repeat(length)],
    ['hyphens', (length: number) => 'a-'.repeat(length / 2)],
    ['only hyphens', (length: number) => '-'.repeat(length)],
    ['at signs', (length: number) => '@'.repeat(length)],
    ['blanks', (length: number) => ' '.repeat(length)],
  ])('is looked for in time proportional to %s', (_, text) => {
    expect(growth(text, hasLink, 4_000)).toBeLessThan(LINEAR);
  });
});
