import { expect, test } from 'vitest';
import { queryOf } from './views.ts';

test('a search names a tag, and the rest is looked for', () => {
  expect(queryOf('mine', 'Ada tag:vip Lovelace')).toEqual({
    assignee: 'me',
    status: 'open',
    tag: 'vip',
    q: 'Ada Lovelace',
  });
  expect(queryOf('all', 'tag:vip')).toEqual({ tag: 'vip' });
  expect(queryOf('all', 'tag:')).toEqual({});
  expect(queryOf('unknown', '')).toEqual({ status: 'open' });
});
