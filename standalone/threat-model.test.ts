import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const at = (path: string): URL => new URL(`../${path}`, import.meta.url);

test('docs/threat-model.md names tests for each actor, and they exist', () => {
  const rows = readFileSync(at('docs/threat-model.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
    .map((line) => line.split(' | '));
  expect(rows.length).toBeGreaterThan(10);
  for (const [actor = '', reaches, bounds, shown = ''] of rows) {
    expect([reaches, bounds].every(Boolean), actor).toBe(true);
    const named = [...shown.matchAll(/`((?:test|proof|providers|standalone)\/[^`]+)`/g)].map(
      ([, path = '']) => path,
    );
    expect(named, actor).not.toEqual([]);
    expect(
      named.filter((path) => !existsSync(at(path))),
      actor,
    ).toEqual([]);
  }
});
