import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';
import { PAGE_CATALOGS, type PageFolder } from './catalogs.ts';
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

/** The folders of pages with texts in the files that these import, over any number of others. */
async function foldersFrom(files: readonly string[]): Promise<string[]> {
  const seen = new Set(files);
  const folders = new Set<string>();
  for (const file of seen) {
    if (!/\.tsx?$/.test(file)) continue;
    const source = await readFile(file, 'utf8');
    const folder = /^pages\/(\w+)\//.exec(relative(CONSOLE, file))?.[1];
    if (folder !== undefined && source.includes("from '@lingui/")) folders.add(folder);
    for (const imported of importsOf(file, source)) seen.add(imported);
  }
  return [...folders];
}

test.each(Object.keys(PAGE_CATALOGS) as PageFolder[])('%s loads the texts that it shows', async (folder) => {
  const files = (await filesIn(join(CONSOLE, 'pages', folder))).filter((file) => !file.includes('.test.'));
  const needed = await foldersFrom(files);
  expect([...PAGE_CATALOGS[folder]].toSorted()).toEqual([...new Set([folder, ...needed])].toSorted());
});

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
