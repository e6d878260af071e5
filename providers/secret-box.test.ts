import { randomBytes } from 'node:crypto';
import { describe, expect, it, test } from 'vitest';
import { createSecretBox, SecretBoxError, secretContext } from './secret-box.ts';

const key = (): string => randomBytes(32).toString('base64');
const [oldKey, newKey] = [key(), key()];
const box = createSecretBox(`k1:${oldKey}`);
const context = secretContext('webhook', 'org_1', 'a');

test.each(['whsec_abc', '', 'grüße 🎉', 'x'.repeat(10_000)])('a sealed text opens again', (plain) => {
  const sealed = box.seal(plain, context);
  expect(sealed).toMatch(/^v1\.k1\.[\w-]{16}\.[\w-]+$/);
  expect(box.open(sealed, context)).toBe(plain);
});

test('sealing the same text twice gives different results', () => {
  expect(box.seal('secret', context)).not.toBe(box.seal('secret', context));
});

test.each([
  ['another record', secretContext('webhook', 'org_1', 'b')],
  ['another workspace', secretContext('webhook', 'org_2', 'a')],
  ['another kind', secretContext('line', 'org_1', 'a')],
  ['the same context split differently', secretContext('webhook', 'org_1a', '')],
])('a sealed text does not open for %s', (_what, other) => {
  const sealed = box.seal('secret', context);
  expect(() => box.open(sealed, other)).toThrow(SecretBoxError);
});

test('a sealed text does not open after any change of one character', () => {
  // 8 bytes and the tag of 16 fill base64url without unused bits, so every character matters.
  const sealed = box.seal('8 bytes!', context);
  for (const [at, was] of sealed.split('').entries()) {
    const changed = sealed.slice(0, at) + (was === 'A' ? 'E' : 'A') + sealed.slice(at + 1);
    expect(() => box.open(changed, context), `character ${at}`).toThrow(SecretBoxError);
  }
});

test('the key id is authenticated', () => {
  const twin = createSecretBox(`k1:${oldKey},k2:${oldKey}`);
  expect(() => twin.open(box.seal('secret', context).replace('.k1.', '.k2.'), context)).toThrow(
    SecretBoxError,
  );
});

test.each([
  '',
  'secret',
  'v1.k1',
  'v2.k1.AAAAAAAAAAAAAAAA.AAAAAAAAAAAAAAAAAAAAAAAA',
  'v1.k1.AAAA.AAAA',
  'v1.k1.AAAAAAAAAAAAAAAA.AAAA',
])('a malformed text is refused: %j', (text) => {
  expect(() => box.open(text, context)).toThrow('not in the form');
});

test('after a new key is put first, old texts still open and need rotation', () => {
  const sealed = box.seal('secret', context);
  const rotated = createSecretBox(`k2:${newKey}, k1:${oldKey}`);
  expect(box.needsRotation(sealed)).toBe(false);
  expect(rotated.open(sealed, context)).toBe('secret');
  expect(rotated.needsRotation(sealed)).toBe(true);
  const again = rotated.seal('secret', context);
  expect(again).toMatch(/^v1\.k2\./);
  expect(rotated.needsRotation(again)).toBe(false);
  expect(() => box.open(again, context)).toThrow('k2 of a stored secret is not in ENCRYPTION_KEYS');
});

describe('the key ring', () => {
  it.each([
    ['', /entry 1/],
    ['k1', /entry 1/],
    [`k1:${oldKey},`, /entry 2/],
    [`k.1:${oldKey}`, /entry 1/],
    ['k1:c2hvcnQ=', /k1 has 5 bytes/],
    [`k1:${oldKey},k1:${newKey}`, /k1 occurs twice/],
  ])('%j is refused without revealing a key', (keys, message) => {
    expect(() => createSecretBox(keys)).toThrow(message);
    expect(() => createSecretBox(keys)).not.toThrow(oldKey);
  });
});
