import { readFileSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import type { KeptBundle } from '#workers/kept-bundle.ts';
import { keptBundleFile } from '#workers/workflow-bundle.ts';

test('the bundle of the workflows is kept with all files that it was made from', () => {
  const code = readFileSync(inject('workflowBundle'), 'utf8');
  const kept = JSON.parse(readFileSync(keptBundleFile() ?? '', 'utf8')) as KeptBundle;
  expect(kept.code).toBe(code);
  const [, map = ''] = /sourceMappingURL=data:application\/json;[^,]*,(\S+)\s*$/.exec(code) ?? [];
  const { sources } = JSON.parse(Buffer.from(map, 'base64').toString()) as { sources: string[] };
  const ours = sources.filter(
    (source) => source.startsWith(process.cwd()) && !source.includes('/node_modules/'),
  );
  expect(ours.length).toBeGreaterThan(20);
  expect(kept.files).toEqual(expect.arrayContaining(ours.filter((source) => source.endsWith('.ts'))));
});
