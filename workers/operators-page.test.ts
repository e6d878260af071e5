import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { WAIT_REASONS } from '#domain/sending/wait-reasons.ts';
import { SIGNALS } from '#workflows/protocol/signals.ts';
import * as updates from '#workflows/protocol/updates.ts';
import { WORKFLOWS } from '#workflows/protocol/workflow-ids.ts';
import { COMMANDS } from './ops-commands.ts';

const page = await readFile(new URL('../docs/operators.md', import.meta.url), 'utf8');
const missing = (names: readonly string[]): string[] =>
  names.filter((name) => !new RegExp(`\`${name}[\`: ]`).test(page));

test.each([
  ['workflow', Object.keys(WORKFLOWS)],
  ['workflow type', Object.values(WORKFLOWS).map(({ type }) => type)],
  ['signal', Object.keys(SIGNALS)],
  ['update', Object.values(updates).map(({ name }) => name)],
  ['command', Object.keys(COMMANDS)],
  ['wait reason', Object.keys(WAIT_REASONS)],
])('docs/operators.md names every %s', (_, names) => {
  expect(names.length).toBeGreaterThan(5);
  expect(missing(names)).toEqual([]);
});
