import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { keepFolder, removeTemporaryFolder, temporaryFolder } from '../bench/support/leftovers.ts';
import { CAP } from './chaos/everything.ts';
import { type AtCarrier, judge, tally } from './chaos/judge.ts';
import { type Expectation, sendEverything } from './chaos/load.ts';
import { firedAlerts, type Period } from './rehearse/alerts.ts';
import { drawDashboard } from './rehearse/dashboard.ts';
import { FAULTS } from './rehearse/faults.ts';
import { readHistories } from './rehearse/histories.ts';
import { type Installation, startInstallation } from './rehearse/installation.ts';
import { reportOf } from './rehearse/report.ts';
import { findPgBackRest } from './rehearse/programs.ts';
import { createBackups } from './rehearse/restore/backups.ts';
import { rehearseRestore } from './rehearse/restore.ts';
import { createTenants } from './rehearse/tenants.ts';
import { traceOfOne } from './rehearse/trace.ts';
import { connected } from '../../db/connection/connected.ts';
import { until } from '../bench/support/waiting.ts';
import { seeded } from './simulate/workload.ts';

/**
 * `npm run rehearse [-- --messages 1000] [--faults kill,…]`: runs the shape of production on this machine, with TLS
 * everywhere and Temporal on PostgreSQL, sends messages of all kinds, lets everything happen to it that
 * `docs/scaling.md` says it survives, and judges by the carriers' logs, the customer's server and the histories. Writes
 * a report and a picture of the dashboard to the folder that it names. Requires the programs in `rehearse/programs.ts`,
 * and root, to mount a small disk.
 * `--restore` is the backup drill instead (`rehearse/restore.ts`), and requires pgBackRest as well.
 */
const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '1000' },
    faults: { type: 'string', default: FAULTS.map(({ name }) => name).join(',') },
    seed: { type: 'string', default: '1' },
    keep: { type: 'boolean', default: false },
    restore: { type: 'boolean', default: false },
  },
});
const MESSAGES = Number(values.messages);
/** The load begins before the first fault. */
const MARGIN_SECONDS = 30;
/** Drips are sent up to this long after they were accepted. */
const DRIP_SECONDS = 330;
const SETTLE_MS = 20 * 60_000;

const programs = fileURLToPath(new URL('../../.data/rehearsal/bin', import.meta.url));
const folder = temporaryFolder('linepace-rehearsal-');
mkdirSync(folder, { recursive: true });
const say = (text: string): void =>
  void process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);

const wanted = values.faults.split(',');
const faults = FAULTS.filter(({ name }) => wanted.includes(name));
const backups = values.restore ? await createBackups(folder, findPgBackRest()) : null;
const installation = await startInstallation(folder, programs, backups?.place);
say(`everything is ready, in ${folder}`);
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void installation.stop().finally(() => process.exit(1)));
try {
  const found = backups ? await rehearseRestore(installation, backups, say) : await rehearse(installation);
  process.exitCode = found ? 0 : 1;
} finally {
  await installation.stop();
  if (process.exitCode === 0 && !values.keep) removeTemporaryFolder(folder);
  else {
    keepFolder(folder);
    say(`the logs are kept in ${folder}`);
  }
}

async function rehearse(installation: Installation): Promise<boolean> {
  const { database, carriers, publicUrl, webhookUrl, receiver } = installation;
  const startedAt = new Date();
  const tenants = await createTenants(installation);

  const duration = faults.reduce((sum, fault) => sum + fault.seconds, MARGIN_SECONDS);
  const seconds = Math.max(duration - DRIP_SECONDS, MARGIN_SECONDS);
  say(`${MESSAGES} messages within ${seconds} s, and faults for ${duration} s`);
  const seed = Number(values.seed);
  const expected = new Map<string, Expectation>();
  const replies: string[] = [];
  const sent = Promise.all(
    tenants.map(async (tenant) => {
      const promised = await sendEverything(publicUrl, tenant, {
        total: MESSAGES / tenants.length,
        random: seeded(seed),
        withinMs: seconds * 1000,
        webhookUrl,
        fallback: { provider: 'twilio', fromNumber: '+14155550198', ...carriers.account },
        writeIn: carriers.writeIn,
      });
      for (const [text, how] of promised.texts) expected.set(text, how);
      replies.push(...promised.replies);
    }),
  );
  // Until it is awaited.
  sent.catch(() => {});
  await pause(MARGIN_SECONDS * 1000);
  const periods: Period[] = [];
  const observed: string[] = [];
  const undocumented: string[] = [];
  for (const fault of faults) {
    say(`fault: ${fault.name}`);
    const from = new Date();
    const seen = await fault.run({ installation, tenants, say }).catch((error: unknown) => {
      undocumented.push(`${fault.name}: ${String(error)}`);
      return String(error);
    });
    say(seen);
    observed.push(seen);
    periods.push({ name: fault.name, from, to: new Date() });
  }
  await sent;
  say(`everything is accepted: ${expected.size} texts`);

  const once = [...expected].filter(([, how]) => how === 'once').map(([text]) => text);
  await until(async () => {
    const there = new Set(carriers.accepted().map(({ text }) => text));
    const missing = once.filter((text) => !there.has(text)).length;
    say(`${there.size} texts at the carriers, ${missing} missing`);
    await pause(10_000);
    return missing === 0;
  }, SETTLE_MS).catch(() => say('gave up waiting'));

  const caps = new Map(tenants.map(({ cappedLineId }) => [cappedLineId, CAP]));
  const workspaceIds = tenants.map(({ id }) => id);
  const judged = async () => {
    // BlueBubbles reports once, and does not repeat what nobody received.
    const { 'receipts lost': _, ...found } = await judge(
      database.ownerUrl,
      { workspaceIds, expected, replies, caps },
      await atCarriers(workspaceIds),
      receiver,
    );
    return found;
  };
  let found = await judged();
  const isRight = (): boolean => Object.values(found).every((problems) => problems.length === 0);
  await until(async () => {
    await pause(10_000);
    found = await judged();
    return isRight();
  }, 300_000).catch(() => {});
  const { failedTasks, failedWorkflows, workflows, events } = await readHistories(installation.client);
  const alerts = await firedAlerts(installation.prometheus, periods, startedAt);
  const verdict = {
    ...found,
    'not as documented': undocumented,
    'workflow tasks failed': failedTasks,
    'workflows failed': failedWorkflows,
    'alerts missing': faults.flatMap((fault) =>
      fault.alerts.filter((name) => !alerts.some((alert) => alert.name === name)),
    ),
    'alerts without a reason': alerts
      .filter(
        ({ name }) => !faults.some((fault) => [...fault.alerts, ...(fault.mayAlert ?? [])].includes(name)),
      )
      .map(({ name, during }) => `${name}: ${during}`),
  };
  console.table(Object.fromEntries(Object.entries(verdict).map(([name, { length }]) => [name, length])));
  for (const [name, problems] of Object.entries(verdict))
    for (const problem of problems.slice(0, 5)) say(`${name}: ${problem}`);
  const report = reportOf({
    command: `npm run rehearse -- ${process.argv.slice(2).join(' ')}`.replace(/ -- $/, ''),
    messages: MESSAGES,
    accepted: expected.size,
    minutes: Math.round((Date.now() - startedAt.getTime()) / 60_000),
    load: (loadavg()[1] ?? 0).toFixed(0),
    cores: cpus().length,
    faults: faults.map((fault, index) => ({ ...fault, observed: observed[index] ?? '' })),
    alerts,
    verdict,
    tally: {
      ...(await tally(database.ownerUrl, workspaceIds)),
      workflows: `${workflows}`,
      'events of Temporal': `${events}`,
    },
  });
  writeFileSync(path.join(folder, 'report.md'), report);
  writeFileSync(path.join(folder, 'trace.txt'), traceOfOne(installation.traces.spans));
  const picture = await drawDashboard(installation.prometheus, periods, startedAt, new Date());
  writeFileSync(path.join(folder, 'rehearsal-dashboard.svg'), picture);
  say(`the report is ${path.join(folder, 'report.md')}`);
  return Object.values(verdict).every((problems) => problems.length === 0);

  /** What the carriers accepted, with the product's id of the message that has the text. */
  async function atCarriers(workspaceIds: readonly string[]): Promise<AtCarrier[]> {
    return connected(database.ownerUrl, async (client) => {
      const { rows } = await client.query<{ id: string; texts: (string | null)[] }>(
        'select id, array[body, sent_text, sms_fallback_message] as texts from messages where workspace_id = any($1)',
        [workspaceIds],
      );
      const ids = new Map(rows.flatMap(({ id, texts }) => texts.map((text) => [text, id] as const)));
      return carriers.accepted().map(({ text, lineId }) => ({
        text,
        lineId,
        messageReference: ids.get(text) ?? '',
        fault: null,
      }));
    });
  }
}
