import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { AGENCY_LIMITS, WORKSPACE_LIMITS } from '#domain/limits.ts';

test('docs/limits.md lists every limit', () => {
  const page = readFileSync(new URL('../docs/limits.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)` \| ([\d,]+) \| (.+) \|$/gm)].map((row) => row.slice(1));
  expect(rows).toEqual(
    Object.entries({ ...WORKSPACE_LIMITS, ...AGENCY_LIMITS }).map(([name, { max, text }]) => [
      name,
      max.toLocaleString('en-US'),
      text,
    ]),
  );
});
