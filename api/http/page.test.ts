import { expect, test } from 'vitest';
import { PageQuery } from './page.ts';

test.each([
  ['0', 'must be from 1 to 200'],
  ['201', 'must be from 1 to 200'],
  ['1e1', 'must be a whole number'],
  ['', 'must be a whole number'],
])('a limit of %j is refused: it %s', (limit, message) => {
  expect(PageQuery.safeParse({ limit }).error?.issues).toMatchObject([{ path: ['limit'], message }]);
});
