import { readFileSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import type { CachedBundle } from '#workers/bundle-cache.ts';
import { bundleCacheFile } from '#workers/workflow-bundle.ts';

test('the bundle of the workflows is cached with all files from which it was built', () => {
  const code = readFileSync(inject('workflowBundle'), 'utf8');
  const cached = JSON.parse(readFileSync(bundleCacheFile() ?? '', 'utf8')) as CachedBundle;
  expect(cached.code).toBe(code);
  const [, map = ''] = /sourceMappingURL=data:application\/json;[^,]*,(\S+)\s*$/.exec(code) ?? [];
  const { sources } = JSON.parse(Buffer.from(map, 'base64').toString()) as { sources: string[] };
  const ours = sources.filter(
    (source) => source.startsWith(process.cwd()) && !source.includes('/node_modules/'),
  );
  expect(ours.length).toBeGreaterThan(20);
  expect(cached.files).toEqual(expect.arrayContaining(ours.filter((source) => source.endsWith('.ts'))));
});
