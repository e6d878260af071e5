import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { anchorOf, PAGES } from '../docs/.vitepress/pages.ts';
import { SIDEBAR } from '../docs/.vitepress/sidebar.ts';

const pages = globSync([
  '*.md',
  'docs/**/*.md',
  '.github/**/*.md',
  'console/README.md',
  'sdk/*/README.md',
  'deploy/*/README.md',
  'examples/recipes/README.md',
]);

/** The relative targets of a page's links, and the paths of source files that it names. */
function filesNamedBy(page: string): string[] {
  const text = readFileSync(page, 'utf8');
  const links = [...text.matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)].map(([, target = '']) =>
    join(dirname(page), target),
  );
  const code = [
    ...text.matchAll(
      /`((?:api|workflows|activities|workers|db|domain|providers|simulator|standalone|test|lab|examples|console|deploy)\/[\w./-]+\.\w+)`/g,
    ),
  ];
  return [...links, ...code.map(([, path = '']) => path)].filter((path) => !path.includes('NAME'));
}

test.each(pages)('every file that %s names exists', (page) => {
  expect(filesNamedBy(page).filter((file) => !existsSync(file))).toEqual([]);
});

test.each(pages)('every section that %s links to exists', (page) => {
  const text = readFileSync(page, 'utf8');
  const missing = [...text.matchAll(/\]\(([^)\s:#]*\.md)?#([^)\s]+)\)/g)].filter(
    ([, target, anchor = '']) => {
      const file = target === undefined ? page : join(dirname(page), target);
      const headings = readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm);
      return ![...headings].some(([, heading = '']) => anchorOf(heading) === anchor);
    },
  );
  expect(missing.map(([link]) => link)).toEqual([]);
});

test('the sidebar of the site has every page of docs/, once', () => {
  const listed = Object.values(SIDEBAR).flat();
  expect(new Set(listed).size).toBe(listed.length);
  expect(listed.filter((file) => !existsSync(file))).toEqual([]);
  const notListed = globSync('docs/**/*.md').filter((file) => !PAGES.includes(file));
  expect(notListed).toEqual([]);
});

test('every test that docs/guarantees.md names exists', () => {
  const named = [...readFileSync('docs/guarantees.md', 'utf8').matchAll(/`([\w-]+\.test\.ts)`/g)];
  expect(named.length).toBeGreaterThan(30);
  const tests = new Set(
    globSync('test/{conformance,end-to-end/*,system}/*.test.ts').map((file) => basename(file)),
  );
  expect(named.map(([, file = '']) => file).filter((file) => !tests.has(file))).toEqual([]);
});
