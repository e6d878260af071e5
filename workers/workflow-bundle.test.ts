import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const FOLDER = new URL('../workflows/', import.meta.url);
const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);

test.each(files)('shares the module %s between runs, so it must hold no state', (name) => {
  expect(readFileSync(new URL(name, FOLDER), 'utf8')).not.toMatch(
    /^(export )?((let|var) |const \w+(: [^=]+)? = (new (Map|WeakMap|WeakSet)\b|\[\]|\{\}))/m,
  );
});
