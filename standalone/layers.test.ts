import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** By file: imports that the linter must refuse there. The linter drops a pattern that it cannot parse, silently. */
const REFUSED: Record<string, string[]> = {
  'domain/x.ts': [
    'node:fs',
    'node:fs/promises',
    'node:net',
    'node:timers',
    'undici',
    'slonik',
    'pg',
    '#db/x.ts',
  ],
  'db/x.ts': ['#providers/x.ts', '../api/x.ts', '#workflows/x.ts', './queries/x.ts', '#db/commands/a/x.ts'],
  'db/wakes/x.ts': ['../queries/a/x.ts', '#db/commands/a/x.ts', '#providers/x.ts'],
  'db/queries/x.ts': [
    '#db/distribution/x.ts',
    '#db/commands/a/x.ts',
    '../commands/a/x.ts',
    '#activities/x.ts',
    'postal-mime',
  ],
  'db/commands/a/x.ts': ['#providers/x.ts', '#workflows/x.ts', '#standalone/x.ts'],
  'providers/x.ts': ['slonik', 'pg', '#db/x.ts', '#workflows/x.ts', 'html-to-text', 'liquidjs'],
  'providers/untrusted/x.ts': ['slonik', '#db/x.ts', '#workflows/protocol/x.ts'],
  'activities/x.ts': [
    'slonik',
    '#db/distribution/x.ts',
    '#api/x.ts',
    '#workflows/x.ts',
    '#standalone/x.ts',
    '#test/x.ts',
  ],
  'workflows/x.ts': ['#db/x.ts', '#activities/x.ts', 'node:crypto', 'zod', 'slonik', '#standalone/x.ts'],
  'api/routes/x.ts': ['slonik', 'pg', '#activities/x.ts', '../../workflows/x.ts', '@temporalio/worker'],
  'api/http/x.ts': ['slonik', '../routes/a/x.ts', '#api/routes/a/x.ts', '#activities/x.ts'],
  'workers/x.ts': ['slonik', '#api/x.ts', '#standalone/x.ts', '#simulator/x.ts', '#lab/bench/x.ts'],
  'simulator/x.ts': ['slonik', '#db/x.ts', '#standalone/x.ts', '../api/x.ts'],
  'console/pages/x.ts': [
    '#db/x.ts',
    '#api/x.ts',
    ...readdirSync('domain').flatMap((subject) => (subject === 'shared' ? [] : [`#domain/${subject}/x.ts`])),
    '../../domain/x.ts',
    '#standalone/x.ts',
  ],
};

/** Imports of the same files that it must allow. */
const ALLOWED: Record<string, string[]> = {
  'domain/x.ts': ['zod', 'node:crypto', './y.ts'],
  'db/queries/x.ts': ['slonik', '#db/connection/rows.ts', '#domain/x.ts', '#workflows/protocol/x.ts'],
  'db/commands/a/x.ts': ['slonik', '../../queries/x.ts', '#db/commands/b/x.ts'],
  'activities/x.ts': ['#db/x.ts', '#providers/x.ts', '#workflows/protocol/x.ts'],
  'workflows/x.ts': ['@temporalio/workflow', './protocol/x.ts', '#domain/x.ts'],
  'api/http/x.ts': ['#db/x.ts', '../auth/x.ts', '../services.ts'],
  'api/routes/x.ts': ['#db/x.ts', '../http/x.ts', '#workflows/protocol/x.ts'],
  'console/pages/x.ts': ['../api/x.ts', '#console/components/x.ts', '#domain/shared/x.ts'],
};

/** What takes long for hostile texts, answers and lists, by name. */
const WORDS = {
  normalize: "export const a = (text: string) => text.normalize('NFC');",
  parse: 'export const b = (text: string): unknown => JSON.parse(text);',
  json: 'export const c = (response: Response) => response.json();',
  array: 'export const d = (z: { array(): void }) => z.array();',
};
/** Which of them the linter must refuse, by file. */
const UNBOUNDED: Record<string, (keyof typeof WORDS)[]> = {
  'domain/y.ts': ['normalize', 'parse'],
  'domain/base/text.ts': ['parse'],
  'domain/base/own-json.ts': ['normalize'],
  'db/queries/y.ts': ['normalize', 'parse'],
  'activities/y.ts': ['normalize', 'parse'],
  'workflows/y.ts': ['normalize', 'parse'],
  'workers/y.ts': ['normalize', 'parse'],
  'api/routes/y.ts': ['normalize', 'parse'],
  'simulator/y.ts': ['normalize', 'parse'],
  'cli/y.ts': ['normalize', 'parse'],
  'cli/commands/y.ts': ['normalize', 'parse'],
  'cli/json.ts': ['normalize'],
  'providers/y.ts': ['normalize', 'parse', 'json', 'array'],
  'providers/carriers/y.ts': ['normalize', 'parse', 'json', 'array'],
  'providers/y.test.ts': [],
};

describe('the layers', () => {
  let folder: string;
  let refusals: { file: string; text: string }[];

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'linepace-layers-'));
    await Promise.all(
      ['oxlint.config.ts', 'package.json', 'tsconfig.json'].map((name) => cp(name, path.join(folder, name))),
    );
    await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
    const files = { ...REFUSED, 'db/cycle-a.ts': ['./cycle-b.ts'], 'db/cycle-b.ts': ['./cycle-a.ts'] };
    for (const [file, imports] of Object.entries(files)) {
      const lines = [...imports, ...(ALLOWED[file] ?? [])].map((name, at) =>
        file.includes('cycle')
          ? `import type { T } from '${name}';\nexport type { T };`
          : `import { x as x${at} } from '${name}';\nexport const y${at} = x${at};`,
      );
      await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
      await writeFile(path.join(folder, file), lines.join('\n'));
    }
    for (const file of Object.keys(UNBOUNDED)) {
      await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
      await writeFile(path.join(folder, file), Object.values(WORDS).join('\n'));
    }
    // By folder: without a .gitignore it would also read node_modules.
    const folders = new Set(
      [...Object.keys(files), ...Object.keys(UNBOUNDED)].map((file) => file.split('/')[0] ?? file),
    );
    const { stdout } = spawnSync('node_modules/.bin/oxlint', ['--format', 'unix', ...folders], {
      cwd: folder,
      encoding: 'utf8',
    });
    refusals = stdout.split('\n').map((text) => ({ file: text.split(':')[0] ?? '', text }));
  }, 30_000);

  afterAll(() => rm(folder, { recursive: true }));

  const refused = (file: string): string[] =>
    refusals
      .filter((refusal) => refusal.file.endsWith(file) && refusal.text.includes('import is restricted'))
      .map(({ text }) => /'([^']+)' import is restricted/.exec(text)?.[1] ?? text);

  it.each(Object.entries(REFUSED))(
    'refuse in %s what it must not import, and nothing else',
    (file, imports) => {
      expect(refused(file).toSorted()).toEqual(imports.toSorted());
    },
  );

  it.each(Object.entries(UNBOUNDED))('refuse in %s what takes long for hostile input', (file, names) => {
    const found = refusals.filter(
      (refusal) => refusal.file.endsWith(file) && refusal.text.includes('no-restricted-properties'),
    );
    const lines = found.map(({ text }) => Number(text.split(':')[1]));
    expect(lines.toSorted((a, b) => a - b).map((line) => Object.keys(WORDS)[line - 1])).toEqual(names);
  });

  it('refuse a cycle of imports, even one of types', () => {
    const cycles = refusals.filter(({ text }) => text.includes('Dependency cycle')).map(({ file }) => file);
    expect(cycles).toEqual(expect.arrayContaining(['db/cycle-a.ts', 'db/cycle-b.ts']));
  });
});
