import { describe, expect, it } from 'vitest';
import { readSuppressions, suppressionOf } from './suppression.ts';

describe('a suppression', () => {
  it.each([
    [{ address: '+1 (415) 555-0123' }, '+14155550123'],
    [{ address: ' Ada@Example.COM ' }, 'ada@example.com'],
    [{ domain: '@Example.com' }, '@example.com'],
    [{ domain: 'mail.example.co.uk' }, '@mail.example.co.uk'],
    [{ domain: 'Bücher.example' }, '@xn--bcher-kva.example'],
    [{ domain: '@почта.рф' }, '@xn--80a1acny.xn--p1ai'],
    [{ address: '＋１ 415 555 0123' }, '+14155550123'],
    [{ address: '\u202A(+1) 415 555 0123\u202C' }, '+14155550123'],
    // Without its country code nobody knows whose number it is.
    [{ address: '415 555 0123' }, null],
    [{ address: 'nobody' }, null],
    [{ domain: 'localhost' }, null],
    [{ address: 'ada@example.com', domain: 'example.com' }, null],
    [{}, null],
  ])('of %j is stored as %s', (name, value) => {
    expect(suppressionOf(name)).toBe(value);
  });

  it('can be a line of a list, with its reason', async () => {
    expect(
      await readSuppressions(
        'Address,Reason\n"+14155550123",asked by mail\n\nexample.com\nada@example.com;x\n',
      ),
    ).toEqual([
      { value: '+14155550123', reason: 'asked by mail' },
      { value: '@example.com', reason: null },
      { value: 'ada@example.com', reason: 'x' },
    ]);
    expect(await readSuppressions(`example.com,${'a'.repeat(499)}😀`)).toEqual([
      { value: '@example.com', reason: 'a'.repeat(499) },
    ]);
    expect(await readSuppressions('example.com\nnot a domain')).toEqual({ line: 2 });
  });

  it('is found by the heading of its column', async () => {
    expect(
      await readSuppressions(
        '\uFEFFaddress,domain,reason\n+14155550123,,asked, twice\n,example.com,competitor\nada@example.com,example.org,both\n,,\n',
      ),
    ).toEqual([
      { value: '+14155550123', reason: 'asked, twice' },
      { value: '@example.com', reason: 'competitor' },
      { value: 'ada@example.com', reason: 'both' },
      { value: '@example.org', reason: 'both' },
    ]);
    expect(await readSuppressions('Reason;Domain;Added\nspam;example.com;2026-01-02')).toEqual([
      { value: '@example.com', reason: 'spam' },
    ]);
  });

  it('is not dropped in silence if a line names nothing', async () => {
    expect(await readSuppressions('address,domain,reason\nada@example.com,,x\n,,nobody')).toEqual({
      line: 3,
    });
    expect(await readSuppressions('ada@example.com\n,example.com,x')).toEqual({ line: 2 });
  });

  it('is read in turns with other work, however many there are', async () => {
    let turns = 0;
    let immediate = setImmediate(function next() {
      turns += 1;
      immediate = setImmediate(next);
    });
    const lines = Array.from({ length: 5000 }, (_, index) => `+4915112${String(345_000 + index)}`);
    expect(await readSuppressions(lines.join('\n'))).toHaveLength(5000);
    clearImmediate(immediate);
    expect(turns).toBeGreaterThan(1);
  });
});
