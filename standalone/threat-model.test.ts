import { readFileSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';

const at = (path: string): URL => new URL(`../${path}`, import.meta.url);
/** A file of tests, rather than a folder of them: what it shows can be looked up. */
const isTest = (path: string): boolean =>
  /\.(test|proof)\.ts$/.test(path) && statSync(at(path), { throwIfNoEntry: false })?.isFile() === true;

test('docs/threat-model.md names tests for each actor, and they exist', () => {
  const rows = readFileSync(at('docs/threat-model.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
    .map((line) => line.split(' | '));
  expect(rows.length).toBeGreaterThan(10);
  for (const [actor = '', reaches, bounds, shown = ''] of rows) {
    expect([reaches, bounds].every(Boolean), actor).toBe(true);
    const named = [...shown.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
    expect(named.filter(isTest), actor).not.toEqual([]);
    expect(
      named.filter((path) => !isTest(path) && !path.startsWith('bench -- ')),
      actor,
    ).toEqual([]);
  }
});
