import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as workflows from '#workflows/index.ts';

const read = (file: string): string => readFileSync(file, 'utf8');

/** The rows of the table of patches: its name, the workflows, and the last release without it. */
const rows = [
  ...read('CONTRIBUTING.md').matchAll(/^ {2}\| `([\w-]+)` \| (`.+`) \| ([\d.]+|none) \| .+ \|$/gm),
];

test('CONTRIBUTING.md lists the patches of the workflows', () => {
  const called = globSync('workflows/**/*.ts').flatMap((file) =>
    [...read(file).matchAll(/\b(?:patched|deprecatePatch)\('(.+?)'\)/g)].map(([, name]) => name),
  );
  expect(rows.map(([, name]) => name).toSorted()).toEqual([...new Set(called)].toSorted());
});

test('the table of patches names workflows, and releases', () => {
  for (const [, name, types = '', release = ''] of rows) {
    const unknown = types.split(', ').filter((type) => !(type.replaceAll('`', '') in workflows));
    expect(unknown, name).toEqual([]);
    if (release !== 'none') expect(read('CHANGELOG.md'), name).toContain(`\n## [${release}] - `);
  }
});
