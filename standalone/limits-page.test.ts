import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { AGENCY_LIMITS, WORKSPACE_LIMITS } from '#domain/accounts/limits.ts';
import { UNPAID_USE, unpaidCostPerDay } from '#domain/accounts/unpaid-cost.ts';

const page = readFileSync(new URL('../docs/limits.md', import.meta.url), 'utf8');

test('docs/limits.md lists every limit', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \| ([\d,]+) \| (.+) \|$/gm)].map((row) => row.slice(1));
  expect(rows).toEqual(
    Object.entries({ ...WORKSPACE_LIMITS, ...AGENCY_LIMITS }).map(([name, { max, text }]) => [
      name,
      max.toLocaleString('en-US'),
      text,
    ]),
  );
});

test('docs/limits.md says what a workspace that never paid can use, and what that costs', () => {
  const [, section = ''] = page.split('## What a workspace that never paid can use');
  const rows = [...section.matchAll(/^\| (.+) \| (.+) \|$/gm)].map((row) => row.slice(1)).slice(2);
  expect(rows).toEqual(UNPAID_USE);
  expect(section).toContain(`at most $${unpaidCostPerDay().toFixed(2)} a day`);
});
