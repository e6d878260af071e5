import { readdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { createTemporalClient } from '../../providers/temporal.ts';
import { residentMb } from '../bench/support/memory.ts';
import { startProduct } from '../bench/support/product.ts';
import { createSoakLoad } from './soak/load.ts';
import { type Sample, type Trend, trendOf } from './soak/trend.ts';
import { usageOf } from '../bench/support/usage.ts';
import { until } from '../bench/support/waiting.ts';

/**
 * Mixed load for hours: `npm run soak [-- --minutes 120 --rate 6 --out soak.json]`. Every half minute it notes memory, open
 * files and connections of API and worker, the sizes and dead rows of all tables, and Temporal's open workflows and
 * histories. It fails if anything grows after the first quarter, except tables of what is kept, which may grow with the
 * messages, and no faster at the end than before.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '120' },
    rate: { type: 'string', default: '6' },
    workspaces: { type: 'string', default: '4' },
    out: { type: 'string' },
  },
});
const MINUTES = Number(values.minutes);
const EVERY_MS = Math.min(30_000, (MINUTES * 60_000) / 40);
const SETTLE_MS = 15 * 60_000;
const MB = 1024 ** 2;

/** Growth that does not count, whatever its share is. */
const LEAST: Record<string, number> = {
  MB: 16,
  files: 8,
  connections: 5,
  rows: 5000,
  'open workflows': 20,
  events: 300,
  ms: 3,
};

/** Tables that keep what was done, and for how long. */
const KEPT: Record<string, string> = {
  messages: 'until their contact is erased',
  inbound_messages: 'until their contact is erased',
  ai_drafts: 'until their contact is erased',
  conversations: 'one for each contact',
  line_contacts: 'one for each contact and line',
  leads: 'a new lead for each entry into the campaign',
  list_addresses: 'a new lead for each entry into the campaign',
  campaign_leads: 'a new lead for each entry into the campaign',
  campaign_responses: 'one for each step that a lead answers',
  attempts: '400 days',
  audit_log: '400 days',
  events: '30 days',
  published_events: '30 days',
  emitted_events: '7 days',
  webhook_deliveries: '30 days',
  carrier_events: '30 days',
  message_moves: '30 days',
  line_holds: '30 days',
  mails: '30 days',
  idempotency_keys: '24 hours',
  drip_claims: 'an hour',
};

const product = await startProduct();
const temporal = createTemporalClient(product.config.temporal);
const owner = new pg.Client({ connectionString: product.ownerUrl });
await owner.connect();
await owner.query(`set app.migrating = 'on'`);
const series = new Map<string, { unit: string; samples: Sample[] }>();
const started = performance.now();

async function sample(): Promise<void> {
  const at = performance.now() - started;
  const note = (name: string, unit: string, value: number): void => {
    const known = series.get(name) ?? { unit, samples: [] };
    known.samples.push({ at, value });
    series.set(name, known);
  };
  const { api, worker } = product.pids;
  for (const [name, pid, metrics] of [
    ['API', api, `${product.config.publicUrl}/metrics`],
    ['worker', worker, product.workerMetrics],
  ] as const) {
    note(`${name}: resident memory`, 'MB', residentMb(pid));
    note(`${name}: open files`, 'files', readdirSync(`/proc/${pid}/fd`).length);
    const text = await (await fetch(metrics)).text();
    const value = (metric: string): number => Number(new RegExp(`^${metric} (\\S+)`, 'm').exec(text)?.[1]);
    note(`${name}: heap in use`, 'MB', value('nodejs_heap_size_used_bytes') / MB);
    note(`${name}: external memory`, 'MB', value('nodejs_external_memory_bytes') / MB);
  }
  const { rows: logins } = await owner.query<{ usename: string; count: number }>(`
    select usename, count(*)::int from pg_stat_activity where datname = current_database() and usename like 'linepace%' group by 1`);
  for (const { usename, count } of logins) note(`connections of ${usename}`, 'connections', count);
  const { rows: tables } = await owner.query<{ name: string; mb: number; indexes: number; dead: number }>(`
    with parts as (
      select c.oid, coalesce(pg_partition_root(c.oid)::regclass, c.oid::regclass)::text as root from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r')
    select root as name, sum(pg_table_size(oid))::float8 / ${MB} as mb, sum(pg_indexes_size(oid))::float8 / ${MB} as indexes,
      sum(coalesce(pg_stat_get_dead_tuples(oid), 0))::float8 as dead
    from parts group by 1`);
  for (const { name, mb, indexes, dead } of tables) {
    note(`table ${name}`, 'MB', mb);
    note(`indexes of ${name}`, 'MB', indexes);
    note(`dead rows of ${name}`, 'rows', dead);
  }
  const { rows: counts } = await owner.query<{ messages: number }>(
    'select count(*)::int as messages from messages',
  );
  note('messages', 'messages', counts[0]?.messages ?? 0);
  let [open, longest] = [0, 0];
  for await (const { workflowId } of temporal.workflow.list({ query: `ExecutionStatus = 'Running'` })) {
    open += 1;
    const handle = temporal.workflow.getHandle(workflowId);
    longest = Math.max(longest, (await handle.describe().catch(() => null))?.historyLength ?? 0);
  }
  note('open workflows', 'open workflows', open);
  note('longest history', 'events', longest);
  for (const [name, { cpu }] of Object.entries(usageOf(product.pids))) note(`cpu ${name}`, 'seconds', cpu);
}

/** Processor time a message between two samples, as a series. */
function costOf(name: string): Sample[] {
  const [cpu, messages] = [series.get(`cpu ${name}`), series.get('messages')];
  return (cpu?.samples ?? []).slice(1).flatMap(({ at, value }, index): Sample[] => {
    const made = (messages?.samples[index + 1]?.value ?? 0) - (messages?.samples[index]?.value ?? 0);
    const spent = value - (cpu?.samples[index]?.value ?? 0);
    return made > 0 ? [{ at, value: (spent * 1000) / made }] : [];
  });
}

interface Verdict extends Trend {
  unit: string;
  verdict: string;
  isRight: boolean;
}

/** A table of what is kept may grow with the messages, and no faster in the second half than in the first. */
function judge(name: string, unit: string, samples: readonly Sample[]): Verdict {
  const trend = trendOf(samples, LEAST[unit] ?? 0);
  const table = /^(?:table|indexes of) (\w+)$/.exec(name)?.[1];
  if (trend.isFlat) return { ...trend, unit, verdict: 'flat', isRight: true };
  const kept = table === undefined ? undefined : KEPT[table];
  if (kept === undefined) return { ...trend, unit, verdict: 'GROWS', isRight: false };
  const messages = series.get('messages')?.samples ?? [];
  const at = (index: number) => ({ size: samples[index]?.value ?? 0, sent: messages[index]?.value ?? 0 });
  const [first, middle, last] = [0.25, 0.625, 1].map((part) => at(Math.floor((samples.length - 1) * part)));
  const per = (a = at(0), b = at(0)): number => ((b.size - a.size) / (b.sent - a.sent)) * MB;
  const [before, after] = [per(first, middle), per(middle, last)];
  const isSteady = after < before * 1.5;
  const bytes = `${Math.round(before)}, then ${Math.round(after)} bytes a message`;
  return { ...trend, unit, verdict: `${isSteady ? 'kept' : 'FASTER'}: ${kept}; ${bytes}`, isRight: isSteady };
}

try {
  const load = await createSoakLoad(product, Number(values.workspaces));
  const stopping = new AbortController();
  const work = load.run(Number(values.rate), stopping.signal);
  const end = performance.now() + MINUTES * 60_000;
  // What was measured until Ctrl-C counts.
  process.once('SIGINT', () => stopping.abort());
  while (performance.now() < end && !stopping.signal.aborted) {
    await sample();
    if (values.out !== undefined) writeFileSync(values.out, JSON.stringify([...series]));
    await pause(EVERY_MS, undefined, { signal: stopping.signal }).catch(() => {});
  }
  stopping.abort();
  const minutes = Math.round((performance.now() - started) / 60_000);
  await work;
  const verdicts = new Map(
    [...series]
      .filter(([name]) => !name.startsWith('cpu ') && name !== 'messages')
      .map(([name, { unit, samples }]) => [name, judge(name, unit, samples)]),
  );
  for (const name of Object.keys(product.pids))
    verdicts.set(`processor time a message: ${name}`, judge(name, 'ms', costOf(name)));

  const drained = performance.now();
  let left: string[] = [];
  await until(async () => {
    const { rows } = await owner.query<{ stuck: string }>(`
      select format('%s %s %s', id, status, hold_reason) as stuck from messages
      where status in ('pending', 'sending') and scheduled_at < now() limit 1000`);
    left = rows.map(({ stuck }) => stuck);
    return left.length === 0;
  }, SETTLE_MS).catch(() => {});
  const shown = ([name, { unit, from, to, perHour, verdict }]: [string, Verdict]) => [
    name,
    { unit, from: round(from), to: round(to), 'an hour': round(perHour), verdict },
  ];
  const isSmall = ([name, { from, to, isRight }]: [string, Verdict]): boolean =>
    isRight && /^(table|indexes of|dead rows of)/.test(name) && Math.max(from, to) < 1;
  console.table(Object.fromEntries([...verdicts].filter((one) => !isSmall(one)).map(shown)));
  for (const [what, times] of [...load.statuses].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`${what}: ${times}`);
  const failed = [...load.statuses].filter(([what]) => / (5\d\d|without a response)$/.test(what));
  const sent = series.get('messages')?.samples.at(-1)?.value ?? 0;
  console.log(
    `${minutes} minutes, ${sent} messages, load average ${loadavg()
      .map((load) => load.toFixed(1))
      .join(
        ' ',
      )}; ${left.length} not sent ${round((performance.now() - drained) / 1000)} s after the last request`,
  );
  // Processor time is only shown, because other load of the machine changes it.
  const isFlat = [...verdicts].every(([name, one]) => one.isRight || name.startsWith('processor time'));
  const isRight = isFlat && failed.length === 0 && left.length === 0;
  for (const message of left.slice(0, 5)) console.log(message);
  console.log(isRight ? 'as it should be' : 'NOT as it should be');
  if (!isRight) process.exitCode = 1;
  load.close();
} finally {
  await owner.end();
  await temporal.connection.close();
  await product.stop();
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}
