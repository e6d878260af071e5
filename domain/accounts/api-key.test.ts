import { expect, test } from 'vitest';
import { apiKeyKind, hashApiKey, isPossibleApiKey, newApiKey } from './api-key.ts';

test.each([
  ['workspace', /^svc_sk_[A-Za-z0-9_-]{49}$/, 'svc_sk_'],
  ['agency', /^svcagency_[A-Za-z0-9_-]{49}$/, 'svcagency_'],
] as const)('a new %s key has the documented form', (kind, form, prefix) => {
  const made = newApiKey(kind);
  expect(made.key).toMatch(form);
  expect(made).toEqual({ key: made.key, hash: hashApiKey(made.key), prefix, last4: made.key.slice(-4) });
  expect(apiKeyKind(made.key)).toBe(kind);
  expect(newApiKey(kind).key).not.toBe(made.key);
});

test('the hash of a key is SHA-256 in hex', () => {
  expect(hashApiKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test.each([
  ['svc_sk_x', 'workspace'],
  ['svc_x', 'workspace'],
  ['svcagency_x', 'agency'],
  ['svcagency', null],
  ['SVC_sk_x', null],
  [' svc_sk_x', null],
  ['eyJhbGciOiJSUzI1NiJ9.e30.x', null],
  ['', null],
])('the kind of the key %j is %s', (token, kind) => {
  expect(apiKeyKind(token)).toBe(kind);
});

test('a key for test mode says so', () => {
  const { key, prefix } = newApiKey('workspace', 'test');
  expect(key).toMatch(/^svc_test_[A-Za-z0-9_-]{49}$/);
  expect([prefix, apiKeyKind(key), isPossibleApiKey(key)]).toEqual(['svc_test_', 'workspace', true]);
});

test.each(['workspace', 'agency'] as const)('a mistyped %s key is recognized', (kind) => {
  const { key, prefix } = newApiKey(kind);
  const older = key.slice(0, -6);
  expect([key, older].map(isPossibleApiKey)).toEqual([true, true]);
  for (let index = prefix.length; index < key.length; index += 1) {
    const other = key[index] === 'a' ? 'b' : 'a';
    expect(isPossibleApiKey(key.slice(0, index) + other + key.slice(index + 1))).toBe(false);
  }
  for (const token of [
    `${key}a`,
    key.slice(0, -1),
    older.slice(0, -1),
    ` ${key}`,
    `${key}\n`,
    prefix,
    'svc_x',
  ])
    expect(isPossibleApiKey(token), token).toBe(false);
});
