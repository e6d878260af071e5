import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const pages = globSync(['*.md', 'docs/**/*.md', '.github/**/*.md']);

/** The relative targets of a page's links, and the paths of source files that it names. */
function filesNamedBy(page: string): string[] {
  const text = readFileSync(page, 'utf8');
  const links = [...text.matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)].map(([, target = '']) =>
    join(dirname(page), target),
  );
  const code = [
    ...text.matchAll(
      /`((?:api|workflows|activities|workers|db|domain|providers|simulator|standalone|test|bench|proof|examples|console|deploy)\/[\w./-]+\.\w+)`/g,
    ),
  ];
  return [...links, ...code.map(([, path = '']) => path)];
}

test.each(pages)('every file that %s names exists', (page) => {
  expect(filesNamedBy(page).filter((file) => !existsSync(file))).toEqual([]);
});

test('every test that docs/guarantees.md names exists', () => {
  const named = [...readFileSync('docs/guarantees.md', 'utf8').matchAll(/`([\w-]+\.test\.ts)`/g)];
  expect(named.length).toBeGreaterThan(30);
  const tests = new Set(globSync('test/end-to-end/*/*.test.ts').map((file) => basename(file)));
  expect(named.map(([, file = '']) => file).filter((file) => !tests.has(file))).toEqual([]);
});
