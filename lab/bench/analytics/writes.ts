import type pg from 'pg';
import { LINEPACE, median, type Row } from '../support/rows.ts';

const COVERING = `(workspace_id, created_at) include (address, status, fallback_sms, line_id, campaign_id, created_by_user_id)
  where status in ('sent', 'delivered', 'fallback', 'failed') or fallback_sms = 'dispatched'`;

/** Copies of the messages table with different indexes for analytics; all other indexes are the same. */
const VARIANTS = {
  'nothing for analytics': [],
  'the covering index': [COVERING],
  'the covering index, and changes for metrics by the day': [COVERING],
} as const;

const SHIPPED: keyof typeof VARIANTS = 'the covering index, and changes for metrics by the day';
const BATCH = 500;
const PREFILLED = 100_000;

/**
 * Measures the writes of a message from its insert to its receipt (pending, sending, sent, delivered: four commits per
 * 500), with and without the indexes for analytics. The copies take turns, batch by batch.
 */
export async function measureWrites(db: pg.Client, batches: number): Promise<Row[]> {
  const names = Object.keys(VARIANTS) as (keyof typeof VARIANTS)[];
  const tables = names.map((name, index) => ({ name, table: `messages_copy_${index}`, ms: [] as number[] }));
  for (const { name, table } of tables) {
    await db.query(`create table ${table} (like messages including all) with (fillfactor = 80)`);
    for (const { indexname } of await analyticsIndexes(db, table)) await db.query(`drop index ${indexname}`);
    for (const definition of VARIANTS[name]) await db.query(`create index on ${table} ${definition}`);
    if (name === SHIPPED)
      for (const definition of await changeTriggers(db))
        await db.query(definition.replace(/ ON public\.messages /, ` ON ${table} `));
    await insert(db, table, 0, PREFILLED);
    await db.query(`vacuum analyze ${table}`);
  }
  for (let batch = 0; batch < batches; batch += 1) {
    const turn = tables.map((_, index) => tables[(index + batch) % tables.length]!);
    for (const { table, ms } of turn) {
      const from = PREFILLED + batch * BATCH;
      const started = performance.now();
      await insert(db, table, from, BATCH);
      for (const status of ['sending', 'sent', 'delivered'])
        await db.query(
          `update ${table} set status = $1, updated_at = now(), sent_at = case when $1 = 'sending' then sent_at else coalesce(sent_at, now()) end
          where workspace_id = $2 and id = any(array(select lpad(to_hex(n), 24, '0') from generate_series($3::int, $4::int) n))`,
          [status, WORKSPACE, from, from + BATCH - 1],
        );
      ms.push(performance.now() - started);
    }
  }
  const [base] = tables;
  const rows: Row[] = [];
  for (const { name, table, ms } of tables) {
    const ratio = median(ms) / median(base?.ms ?? ms);
    console.log(
      `written with ${name}: ${((median(ms) / BATCH) * 1000).toFixed(0)} µs a message, ratio ${ratio.toFixed(2)}`,
    );
    await db.query(`drop table ${table}`);
    rows.push({
      work: 'writing a message with what analytics need',
      subject: name === SHIPPED ? LINEPACE : name,
      unit: 'µs',
      more: false,
      values: ms.map((batch) => (batch / BATCH) * 1000),
      ...(name === names[0] && { goal: 1.2 }),
    });
  }
  return rows;
}

const WORKSPACE = 'org_000000000000000000000001';

async function insert(db: pg.Client, table: string, from: number, count: number): Promise<void> {
  await db.query(
    `insert into ${table} (workspace_id, id, channel, status, line_id, address, recipient_phone, body, scheduled_at, source, campaign_id, lead_id)
    select $1, lpad(to_hex(n), 24, '0'), 'imessage', 'pending', '65' || lpad(to_hex(n % 100), 22, '0'), '+1' || (2000000000 + n::bigint * 7919 % 250000),
      '+12000000000', repeat('Hello there, ', 8) || n, now(), 'campaign', '66' || lpad(to_hex(n / 10000), 22, '0'), lpad(to_hex(n::bigint * 7919 % 250000), 24, '0')
    from generate_series($2::int, $2::int + $3::int - 1) n`,
    [WORKSPACE, from, count],
  );
}

/** The triggers that note what changes metrics. */
async function changeTriggers(db: pg.Client): Promise<string[]> {
  const { rows } = await db.query<{ definition: string }>(
    `select pg_get_triggerdef(oid) definition from pg_trigger
     where tgrelid = 'messages'::regclass and tgfoid = 'note_message_change'::regproc`,
  );
  return rows.map(({ definition }) => definition);
}

/** `like` names indexes by their columns; those for analytics begin with the workspace and the time of creation. */
async function analyticsIndexes(db: pg.Client, table: string): Promise<{ indexname: string }[]> {
  const { rows } = await db.query<{ indexname: string }>(
    `select indexname from pg_indexes where tablename = $1 and indexdef like '%(workspace_id, created_at)%'`,
    [table],
  );
  return rows;
}
