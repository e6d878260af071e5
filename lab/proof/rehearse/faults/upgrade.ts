import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import type { Installation } from '../installation.ts';
import { createPlace } from '../processes.ts';

const STEP = 'rehearsed upgrade';
/** What the documentation promises for a process that is asked to exit. */
const EXITS_WITHIN_SECONDS = 12;
/** Lines that send complete a workflow task in this time. */
const ROUND_MS = 90_000;

export const upgrade: Fault = {
  name: 'upgrade',
  text: 'A rolling upgrade to a build with another pacer: a new step behind `patched()`',
  seconds: 200,
  alerts: [],
  async run({ installation, say }) {
    const next = installation.release('two', nextBuild(installation));
    const exits: number[] = [];
    for (const place of installation.of('api')) {
      exits.push(await place.stop());
      await place.start(next);
      say(`${place.name} replaced`);
    }
    // The new workers run beside the old ones, and become ready when the new build is current.
    const beside = await Promise.all(
      installation.of('worker').map(({ name }) => createPlace(`${name}-two`, 'worker', installation.folder)),
    );
    await Promise.all([...beside.map((place) => place.start(next)), installation.makeCurrent('two')]);
    say('build two is current');
    for (const place of installation.of('worker')) exits.push(await place.stop());
    installation.current = next;
    // They take the places of the old ones, where they are scraped.
    for (const [index, place] of installation.of('worker').entries()) {
      await place.start(next);
      exits.push((await beside[index]?.stop()) ?? 0);
    }
    const slowest = Math.max(...exits);
    if (slowest > EXITS_WITHIN_SECONDS + 1) throw new Error(`a process took ${slowest.toFixed(1)} s to exit`);
    await pause(ROUND_MS);
    const { pacers, upgraded } = await countPacers(installation);
    if (upgraded === 0) throw new Error('no pacer has taken the new step');
    return `${upgraded} of ${pacers} running pacers have taken the new step. The ${exits.length} processes exited within ${slowest.toFixed(1)} s of SIGTERM.`;
  },
};

/** A copy of this checkout in which a pacer takes a step after each round that a worker of this build does not know. */
function nextBuild({ folder }: Installation): string {
  const root = join(folder, 'next');
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  for (const file of files.split('\0')) if (file !== '') cpSync(file, join(root, file), { force: true });
  symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'));
  const pacer = join(root, 'workflows/line-pacer.ts');
  const before = readFileSync(pacer, 'utf8');
  const after = before
    .replace('  continueAsNew,\n', '  continueAsNew,\n  patched,\n  upsertMemo,\n')
    .replace(
      '    line = round;\n',
      `    line = round;\n    if (patched('${STEP}')) upsertMemo({ '${STEP}': true });\n`,
    );
  if (!after.includes(STEP) || !after.includes('upsertMemo,')) throw new Error('the pacer was not changed');
  writeFileSync(pacer, after);
  return root;
}

async function countPacers({ client }: Installation): Promise<{ pacers: number; upgraded: number }> {
  let [pacers, upgraded] = [0, 0];
  const query = `WorkflowType = 'linePacer' and ExecutionStatus = 'Running'`;
  for await (const { memo } of client.workflow.list({ query })) {
    pacers += 1;
    if (memo?.[STEP] === true) upgraded += 1;
  }
  return { pacers, upgraded };
}
