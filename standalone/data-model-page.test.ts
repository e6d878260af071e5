import { globSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('docs/data-model.md', 'utf8');

/** The tables that are left after all migrations. Partitions belong to their table. */
function tablesOfMigrations(): string[] {
  const tables = new Set<string>();
  for (const file of globSync('db/migrations/*.sql').toSorted())
    for (const [, action, name = ''] of readFileSync(file, 'utf8').matchAll(
      /^(create|drop)(?: unlogged)? table (?:if (?:not )?exists )?(\w+)/gm,
    ))
      if (action === 'create') tables.add(name);
      else tables.delete(name);
  return [...tables].toSorted();
}

test('docs/data-model.md has every table once, with what its rows are', () => {
  const cells = [...page.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| .+ \|$/gm)].map(([, cell = '']) => cell);
  const names = cells.flatMap((cell) => cell.replaceAll('`', '').split(', '));
  expect(names.toSorted()).toEqual(tablesOfMigrations());
});

test('docs/data-model.md has the subjects of the source layout', () => {
  const subjects = [...page.matchAll(/^\| \*\*(.+)\*\* \| \|$/gm)].map(([, name = '']) => name);
  expect(subjects.length).toBeGreaterThan(10);
  expect(subjects.filter((name) => !readdirSync('domain').includes(name))).toEqual([]);
});

test('the picture of docs/data-model.md names only tables', () => {
  const [, picture = ''] = page.split(/```(?:text)?/);
  const named = picture.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? [];
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !tablesOfMigrations().includes(name))).toEqual([]);
});
