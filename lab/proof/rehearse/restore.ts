import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Installation } from './installation.ts';
import { ARCHIVE_TIMEOUT_SECONDS, type Backups } from './restore/backups.ts';
import { diskLost, drill, type Drilled, rowsDeleted } from './restore/drill.ts';
import { prepareTenant, startLoad } from './restore/load.ts';
import { createTenants } from './tenants.ts';

/** How long messages are sent before the base backup is made. */
const WARM_UP_MS = 30_000;

/**
 * The backup drill: a base backup is made while messages are sent, the database is lost twice, restored to another folder, and
 * the product is started on it. Temporal, with its own database, stays as it is and is ahead of the product's.
 * @returns whether nothing is wrong.
 */
export async function rehearseRestore(
  installation: Installation,
  backups: Backups,
  say: (text: string) => void,
): Promise<boolean> {
  const tenants = await createTenants(installation);
  for (const tenant of tenants) await prepareTenant(installation, tenant);
  await backups.create();
  const loads = tenants.map((tenant) => startLoad(installation, tenant, 'backup'));
  await pause(WARM_UP_MS);
  const started = performance.now();
  await backups.backUp();
  const backup = (performance.now() - started) / 1000;
  await Promise.all(loads.map((load) => load.stop()));
  say(`the base backup took ${backup.toFixed(0)} s`);

  const drilled: Drilled[] = [];
  for (const loss of [diskLost, rowsDeleted]) {
    drilled.push(await drill(loss, { installation, backups, tenants, say }));
    const { verdict } = drilled.at(-1) as Drilled;
    console.table(Object.fromEntries(Object.entries(verdict).map(([name, { length }]) => [name, length])));
    for (const [name, problems] of Object.entries(verdict))
      for (const problem of problems.slice(0, 5)) say(`${name}: ${problem}`);
  }
  const file = join(installation.folder, 'restore.md');
  writeFileSync(file, reportOf(backup, drilled));
  say(`the report is ${file}`);
  return drilled.every(({ verdict }) => Object.values(verdict).every(({ length }) => length === 0));
}

/** The tables of `docs/backup.md`. */
function reportOf(backup: number, drilled: readonly Drilled[]): string {
  const row = (name: string, of: (one: Drilled) => string): string =>
    `| ${[name, ...drilled.map(of)].join(' | ')} |`;
  const inSeconds = (name: string, key: keyof Drilled['seconds']): string =>
    row(name, ({ seconds }) => `${seconds[key].toFixed(0)} s`);
  const names = (key: 'counts' | 'verdict'): string[] => Object.keys(drilled[0]?.[key] ?? {});
  return `| | ${drilled.map(({ loss }) => loss.text).join(' | ')} |
| - |${' - |'.repeat(drilled.length)}
${row(`**RPO**: from the last commit that was recovered to the failure; \`archive_timeout\` is ${ARCHIVE_TIMEOUT_SECONDS} s`, ({ seconds }) => `**${seconds.lost.toFixed(0)} s**`)}
${row('**RTO**: from the end of the old processes to the first message that is sent', ({ seconds: { restore, recover, start, 'first send': first } }) => `**${(restore + recover + Math.max(start, first)).toFixed(0)} s**`)}
${inSeconds('the old processes end', 'stop')}
${inSeconds('pgBackRest restores the base backup', 'restore')}
${inSeconds('PostgreSQL replays the log', 'recover')}
${inSeconds('API and workers start', 'start')}
${inSeconds('the first message is sent, from their start', 'first send')}
${names('counts')
  .map((name) => row(name, ({ counts }) => `${counts[name]}`))
  .join('\n')}
${names('verdict')
  .map((name) => row(name, ({ verdict }) => `${verdict[name]?.length}`))
  .join('\n')}

The base backup took ${backup.toFixed(0)} s while messages were sent.
`;
}
