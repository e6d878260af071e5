import { globSync, readFileSync } from 'node:fs';

/** A fenced block of a page. */
export interface Block {
  /** `docs/start.md:12` */
  at: string;
  language: string;
  text: string;
}

/** Pages whose code is checked. */
const CHECKED_PAGES = globSync([
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'docs/**/*.md',
  'console/README.md',
  'sdk/*/README.md',
  'deploy/*/README.md',
  'examples/recipes/README.md',
]).filter((page) => !page.includes('node_modules'));

const FENCED = /^( *)```(\S*)\n([\s\S]*?)^ *```$/gm;

export const BLOCKS: readonly Block[] = CHECKED_PAGES.flatMap((page) => {
  const source = readFileSync(page, 'utf8');
  return [...source.matchAll(FENCED)].map(({ index, 1: indent = '', 2: language = '', 3: text = '' }) => ({
    at: `${page}:${source.slice(0, index).split('\n').length}`,
    language,
    text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
});

/** What a page names in a sentence or a table: `npm run docs`. */
export const SPANS: readonly Block[] = CHECKED_PAGES.flatMap((page) => {
  const source = readFileSync(page, 'utf8').replaceAll(FENCED, (block) => block.replaceAll(/[^\n]/g, ''));
  return [...source.matchAll(/`([^`\n]+)`/g)].map(({ index, 1: text = '' }) => ({
    at: `${page}:${source.slice(0, index).split('\n').length}`,
    language: 'span',
    text,
  }));
});
