import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';
import { PAGE_CATALOGS, type PageFolder, PART_CATALOGS, type PagePart } from './catalogs.ts';
import { CONSOLE, filesIn } from './sources.ts';

/** What a file imports of the console, without types. */
function importsOf(file: string, source: string): string[] {
  const { staticImports, dynamicImports } = parseSync(file, source).module;
  const names = [
    ...staticImports
      .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
      .map(({ moduleRequest }) => moduleRequest.value),
    ...dynamicImports.map(({ moduleRequest: { start, end } }) => source.slice(start + 1, end - 1)),
  ];
  return names.flatMap((name) => {
    if (name.startsWith('#console/')) return [join(CONSOLE, name.slice('#console/'.length))];
    return name.startsWith('.') ? [join(dirname(file), name)] : [];
  });
}

const partFile = (name: string): string => join(CONSOLE, `pages/${name}.tsx`);
const PARTS = new Set(Object.keys(PART_CATALOGS).map(partFile));
const folderOf = (file: string): string | undefined => /^pages\/(\w+)\//.exec(relative(CONSOLE, file))?.[1];

/** The folders of pages with texts in the files that these import, over any number of others, but not in parts of pages. */
async function foldersFrom(files: readonly string[]): Promise<string[]> {
  const seen = new Set(files);
  const folders = new Set<string>();
  for (const file of seen) {
    if (!/\.tsx?$/.test(file)) continue;
    const source = await readFile(file, 'utf8');
    const folder = folderOf(file);
    if (folder !== undefined && source.includes("from '@lingui/")) folders.add(folder);
    for (const imported of importsOf(file, source)) if (!PARTS.has(imported)) seen.add(imported);
  }
  return [...folders];
}

test.each(Object.keys(PAGE_CATALOGS) as PageFolder[])('%s loads the texts that it shows', async (folder) => {
  const router = join(CONSOLE, 'router.tsx');
  const pages = importsOf(router, await readFile(router, 'utf8')).filter((file) => folderOf(file) === folder);
  const needed = await foldersFrom(pages);
  expect([...PAGE_CATALOGS[folder]].toSorted()).toEqual(needed.toSorted());
});

test.each(Object.keys(PART_CATALOGS) as PagePart[])(
  '%s loads the texts that its page has not',
  async (name) => {
    const loaded: readonly string[] = PAGE_CATALOGS[name.split('/')[0] as PageFolder];
    const needed = await foldersFrom([partFile(name)]);
    expect([...PART_CATALOGS[name]].toSorted()).toEqual(
      needed.filter((folder) => !loaded.includes(folder)).toSorted(),
    );
  },
);

/** A text has one translation, whichever catalog was loaded last. */
test('catalogs agree', async () => {
  const entry = /((?:msgctxt ".*"\n)?msgid (?:".*"\n)+)msgstr ((?:".*"\n?)+)/g;
  const known = new Map<string, string>();
  for (const file of await filesIn(join(CONSOLE, 'locales/es'))) {
    for (const [, text = '', translation = ''] of (await readFile(file, 'utf8')).matchAll(entry)) {
      if (text === 'msgid ""\n') continue;
      expect([text, known.get(text) ?? translation]).toEqual([text, translation]);
      known.set(text, translation);
    }
  }
});
