import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Client } from '@temporalio/client';
import { inject } from 'vitest';
import { findTemporalCli } from '#standalone/temporal-cli.ts';

const FOLDER = new URL('../histories/', import.meta.url);
/** A history this long shows everything a workflow does; a longer one only takes longer to replay. */
const LONG_ENOUGH = 400;

interface History {
  events: unknown[];
}

/**
 * With `SAVE_HISTORIES=1`, what the workflows of a test went through becomes what the replay test replays from then
 * on: of each type the longest history up to a bound.
 */
export async function saveHistories(client: Client): Promise<void> {
  if (process.env['SAVE_HISTORIES'] !== '1') return;
  const program = await findTemporalCli(() => {});
  for await (const { workflowId, runId, type } of client.workflow.list()) {
    const run = ['--workflow-id', workflowId, '--run-id', runId, '--output', 'json'];
    const server = ['--address', inject('temporalAddress'), '--namespace', client.options.namespace];
    const { stdout } = await promisify(execFile)(program, ['workflow', 'show', ...run, ...server], {
      maxBuffer: 64 * 2 ** 20,
    });
    const history = JSON.parse(stdout) as History;
    const file = new URL(`${type}.json`, FOLDER);
    if (history.events.length > LONG_ENOUGH || history.events.length <= savedLength(file)) continue;
    writeFileSync(file, `${JSON.stringify(history, null, 1)}\n`);
  }
}

function savedLength(file: URL): number {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as History).events.length : 0;
}
