import { describe, expect, it, test } from 'vitest';
import { isReturnPath, lifetimeOf } from './user-session.ts';

describe('where signing in leads to', () => {
  it.each(['/console', '/console/', '/console/inbox/%2B14155550123?tab=notes', '/invitations/a-b_c'])(
    'is a page of the product: %s',
    (path) => expect(isReturnPath(path)).toBe(true),
  );

  it.each([
    '',
    'console',
    '/',
    '/api/keys',
    '//evil.example/console',
    '/console//evil.example',
    '/console\\evil.example',
    '/consoles',
    'https://evil.example/console',
    '/console#code=x',
    '/console\r\nSet-Cookie: a=b',
  ])('is no other address: %j', (path) => expect(isReturnPath(path)).toBe(false));

  it('stays below its first folder', () => expect(isReturnPath('/console/../api/keys')).toBe(false));
});

test('it lasts at most an hour if the provider cannot be asked again', () => {
  expect(lifetimeOf({ idleMinutes: 30, hours: 12 }, true)).toBe(720);
  expect(lifetimeOf({ idleMinutes: 30, hours: 12 }, false)).toBe(60);
});
