import { globSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

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

/** The languages that `tsc` checks. */
export const TYPESCRIPT = ['ts', 'tsx', 'js'];

/** The projects whose code blocks of TypeScript use, and with which `npm run check` compiles them. */
const PROJECTS = {
  console: {
    isIn: (at: string) => at.startsWith('console/'),
    extends: 'console/tsconfig.json',
    compilerOptions: {},
    include: ['console/**/*.ts', 'console/**/*.tsx', 'providers/**/*.d.ts'],
    exclude: ['console/dist*'],
  },
  sdk: {
    isIn: (at: string) => !at.startsWith('console/'),
    extends: 'sdk/typescript/tsconfig.json',
    compilerOptions: { types: ['node'], paths: { linepace: ['../../../sdk/typescript/src/index.ts'] } },
    include: ['sdk/typescript/src'],
    exclude: [],
  },
};

/** Writes a project with the blocks of TypeScript that use it. @returns its tsconfig.json. */
export async function writeProjectWithBlocks(name: keyof typeof PROJECTS): Promise<string> {
  const folder = `node_modules/.cache/blocks-of-${name}`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const { isIn, compilerOptions, include, exclude, ...project } = PROJECTS[name];
  for (const { at, language, text } of BLOCKS.filter((block) => TYPESCRIPT.includes(block.language)))
    if (isIn(at))
      await writeFile(join(folder, `${at.replaceAll(/\W/g, '-')}.${language}`), `export {};\n${text}`);
  const root = relative(folder, '.');
  const written = {
    extends: join(root, project.extends),
    compilerOptions: { ...compilerOptions, rootDir: root },
    include: ['.', ...include.map((glob) => join(root, glob))],
    exclude: exclude.map((glob) => join(root, glob)),
  };
  const file = join(folder, 'tsconfig.json');
  await writeFile(file, JSON.stringify(written));
  return file;
}
