import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const WORLD = fileURLToPath(new URL('../world.ts', import.meta.url));

test('a part that cannot be installed is skipped by its name', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [WORLD, 'twilio-contract']);
  expect(stdout.trim().split('\n').at(-1)).toMatch(/^skipped +twilio-contract +name the documents/);
});
