import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findUnstorable, JsonTooComplex, parseUntrustedJson } from './untrusted-json.ts';

describe('JSON from outside', () => {
  const refusal = (text: string, maxValues?: number): { message: string; path: string } | 'accepted' => {
    try {
      parseUntrustedJson(text, maxValues);
    } catch (error) {
      if (error instanceof JsonTooComplex) return { message: error.message, path: error.path };
      throw error;
    }
    return 'accepted';
  };
  const fields = (count: number): string =>
    `{${Array.from({ length: count }, (_, index) => `"f${index}":0`).join(',')}}`;
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

  it('is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), fc.nat({ max: 4 }), (value, space) => {
        const text = JSON.stringify(value, null, space);
        fc.pre(!text.includes('"__proto__"'));
        expect(parseUntrustedJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('may be 100 levels deep', () => {
    expect(refusal(nested(100))).toBe('accepted');
    expect(refusal(nested(101))).toEqual({ message: 'is nested too deeply', path: '0' });
    expect(refusal(`{"a": "{", "b\\n": ["x", ${nested(100)}]}`)).toMatchObject({ path: 'b\n' });
    expect(refusal(`[1, 2, ${nested(100)}]`)).toMatchObject({ path: '2' });
  });

  it('may have 1,000 fields in an object', () => {
    expect(refusal(fields(1000))).toBe('accepted');
    expect(refusal(fields(1001))).toEqual({ message: 'must have at most 1000 fields', path: '' });
    expect(refusal(`{"a": [1], "custom": ${fields(1001)}}`)).toMatchObject({ path: 'custom' });
    expect(refusal(`[${fields(600)}, ${fields(600)}]`)).toBe('accepted');
  });

  it('may have as many values as is said, however its strings look', () => {
    expect(refusal('[1, 2, "[,{\\",[", 4]', 5)).toBe('accepted');
    expect(refusal('[1, 2, "[,{\\",[", 4]', 4)).toEqual({ message: 'must have at most 4 values', path: '' });
  });

  it('must not set a prototype', () => {
    expect(() => parseUntrustedJson('{"a": [{"__proto__": {}}]}')).toThrow(SyntaxError);
    expect(() => parseUntrustedJson('{"\\u005f_proto__": {}}')).toThrow(SyntaxError);
  });

  it('that no database can store is found, with its place', () => {
    expect(findUnstorable({ a: ['x', { b: 'y\0' }] })).toMatchObject({ path: ['a', '1', 'b'] });
    expect(findUnstorable({ a: '\ud83d' })).toMatchObject({ path: ['a'] });
    expect(findUnstorable({ 'a\0': 1 })).toMatchObject({ path: [] });
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const isStorable = !/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(value).replaceAll('\\\\', ''));
        expect(findUnstorable(value) === null).toBe(isStorable);
      }),
    );
  });
});
