import { spawnSync } from 'node:child_process';
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
  'workers/x.ts': ['slonik', '#api/x.ts', '#standalone/x.ts', '#simulator/x.ts', '#lab/bench/x.ts'],
  'simulator/x.ts': ['slonik', '#db/x.ts', '#standalone/x.ts', '../api/x.ts'],
  'console/pages/x.ts': [
    '#db/x.ts',
    '#api/x.ts',
    '#domain/base/x.ts',
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
  'api/routes/x.ts': ['#db/x.ts', '../http/x.ts', '#workflows/protocol/x.ts'],
  'console/pages/x.ts': ['../api/x.ts', '#console/components/x.ts', '#domain/shared/x.ts'],
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
    await writeFile(path.join(folder, 'domain/y.ts'), "export const y = 'a'.normalize('NFC');\n");
    // By folder: without a .gitignore it would also read node_modules.
    const folders = new Set(Object.keys(files).map((file) => file.split('/')[0] ?? file));
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

  it('refuse to normalize a text of any length', () => {
    expect(
      refusals.filter(({ file, text }) => file.endsWith('domain/y.ts') && text.includes('normalize')),
    ).toHaveLength(1);
  });

  it('refuse a cycle of imports, even one of types', () => {
    const cycles = refusals.filter(({ text }) => text.includes('Dependency cycle')).map(({ file }) => file);
    expect(cycles).toEqual(expect.arrayContaining(['db/cycle-a.ts', 'db/cycle-b.ts']));
  });
});
