import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb } from '../../db/connection/transactions.ts';
import { apiClient } from '../../test/support/client.ts';
import { startProcess } from '../../test/support/process.ts';
import { linePacerId } from '../../workflows/protocol/workflow-ids.ts';
import { until } from '../bench/support/waiting.ts';
import { createBenchWorkspace, unpaced } from '../bench/support/workspace.ts';
import { startScene } from './faults/scene.ts';

/**
 * What a worker does that was only suspended: `npm run prove -- suspended`. Stops a worker with SIGSTOP in the middle of sends, which Temporal
 * sees like a host that vanished; lets another take over, and the first go on beside it. Fails if anything is lost or sent twice, if a gap is
 * broken, or if a line waits until it misses its heartbeat.
 */
const LINES = 8;
const MESSAGES = 12;
/** A gap of one second is varied by up to this. */
const MIN_GAP_MS = 500;
/** Of a round and its retry. */
const HEARTBEAT_MS = 90_000;

const Started = z.object({ lineId: z.string(), startedAt: z.date(), outcome: z.string().nullable() });

const scene = await startScene();
const failures: string[] = [];
const check = (isRight: boolean, text: string): void => {
  console.log(`${isRight ? 'right' : 'WRONG'}: ${text}`);
  if (!isRight) failures.push(text);
};
/** Each in a workspace of its own, as requests are limited. */
const workspaces = await Promise.all(
  Array.from({ length: LINES + 1 }, async () => {
    const { id, key, lineIds } = await createBenchWorkspace(scene.pools, 1);
    await unpaced(scene.pools, id);
    return { id, lineId: lineIds[0] ?? '', call: apiClient(scene.metricsUrls.api, key) };
  }),
);
const [slow, ...lines] = workspaces;
if (!slow) throw new Error('there is no workspace');
await systemDb(scene.pools).query(sql.type(z.unknown())`
  update lines set min_gap_seconds = 1
  where workspace_id = any(${sql.array(
    workspaces.map(({ id }) => id),
    'text',
  )})`);
/** The carrier accepts at once what is sent to it, and answers after five seconds. */
const SLOW = '+12122220009';
const contactOf = (line: number): string => `+1212222${1100 + line}`;
async function post({ call }: (typeof workspaces)[number], recipientPhone: string, message: string) {
  const { status, body } = await call('POST', '/api/messages', { recipientPhone, message });
  if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`);
}

async function sentTo(address: string): Promise<string[]> {
  const url = `${scene.config.simulator?.url}/simulated/carrier/sent?to=${encodeURIComponent(address)}`;
  const { messages } = (await (await fetch(url)).json()) as { messages: { text: string }[] };
  return messages.map(({ text }) => text);
}
const counts = () => Promise.all(lines.map(async (_, line) => (await sentTo(contactOf(line))).length));
const attempts = () =>
  systemDb(scene.pools).any(sql.type(Started)`
    select line_id, started_at, outcome from attempts order by line_id, started_at`);

try {
  for (let count = 0; count < MESSAGES; count += 1)
    await Promise.all(lines.map((of, line) => post(of, contactOf(line), `Hello ${count}`)));
  for (const { lineId } of lines) {
    const pacer = scene.temporal.workflow.getHandle(linePacerId(lineId));
    await until(async () => (await pacer.describe()).raw.pendingActivities?.length === 1);
  }
  await post(slow, SLOW, 'Hello');
  await until(async () => (await sentTo(SLOW)).length === 1);
  const suspended = scene.pidOf('worker');
  process.kill(suspended, 'SIGSTOP');
  const since = performance.now();
  const seconds = (): number => Math.round((performance.now() - since) / 1000);
  const before = await counts();
  console.log(`suspended after ${before.join(', ')} messages of ${MESSAGES} of each line`);
  const other = await startProcess('workers/worker.ts', { ...scene.config, metricsPort: null });
  const goneOn = new Map<number, number>();
  await until(async () => {
    (await counts()).forEach((count, line) => {
      if (count > (before[line] ?? 0) && !goneOn.has(line)) goneOn.set(line, seconds());
    });
    return goneOn.size === lines.length;
  }, 300_000);
  const times = [...goneOn.values()].toSorted((a, b) => a - b);
  check((times.at(-1) ?? Infinity) * 1000 < HEARTBEAT_MS, `lines go on after ${times.join(', ')} s`);

  process.kill(suspended, 'SIGCONT');
  await until(async () => (await counts()).every((count) => count >= MESSAGES));
  await until(async () => (await attempts()).every(({ outcome }) => outcome !== null));
  // Both work: what either would send twice, it sends before these.
  await Promise.all(lines.map((of, line) => post(of, contactOf(line), 'Last')));
  await until(async () => (await counts()).every((count) => count > MESSAGES));

  const texts = await Promise.all(lines.map((_, line) => sentTo(contactOf(line))));
  const expected = MESSAGES + 1;
  check(
    texts.every((of) => new Set(of).size === expected),
    'nothing is lost',
  );
  check(
    texts.every((of) => of.length === expected),
    'nothing is sent twice',
  );
  check((await sentTo(SLOW)).length === 1, 'what the carrier had accepted unheard is not sent again');
  const byLine = Map.groupBy(await attempts(), ({ lineId }) => lineId);
  const gaps = [...byLine.values()].flatMap((of) =>
    of.slice(1).map(({ startedAt }, index) => startedAt.getTime() - (of[index]?.startedAt.getTime() ?? 0)),
  );
  check(Math.min(...gaps) >= MIN_GAP_MS, `the shortest gap is ${Math.min(...gaps)} ms`);
  await other.kill();
} finally {
  process.exitCode = failures.length > 0 ? 1 : 0;
  await scene.stop();
}
process.exit();
