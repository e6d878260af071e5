import type pg from 'pg';
import { newWorkspaceId } from '../../../domain/base/ids.ts';

/** A large workspace with two years of messages until `END`, generated from a counter and the same in each run. */
export interface LoadedWorkspace {
  id: string;
  lineId: string;
  campaignId: string;
  userId: string;
}
export const BEGIN = new Date('2024-09-01T00:00:00Z');
export const END = new Date('2026-09-01T00:00:00Z');

export const LINES = 100;
export const CAMPAIGNS = 50;
/** Other workspaces, which together have one message for every ten. */
const OTHER_WORKSPACES = 10;

/**
 * Inserts messages of one workspace, four per contact, and of ten others in between, in order of time; replies to one in
 * ten; tags on one contact in fifty. Indexes are created afterwards.
 * @param kept selects indexes by name; the default are those that analytics may read.
 */
export async function loadMessages(
  db: pg.Client,
  count: number,
  kept = /_(counted|address|sent|line|campaign|newest|tagged)$/,
): Promise<LoadedWorkspace> {
  const ids = Array.from({ length: OTHER_WORKSPACES + 1 }, newWorkspaceId);
  const [id] = ids;
  if (id === undefined) throw new Error('no workspace');
  await db.query('insert into workspaces (id, name) select id, id from unnest($1::text[]) id', [ids]);
  // Skips the checks of foreign keys, which hold.
  await db.query('set session_replication_role = replica');
  const step = (END.getTime() - BEGIN.getTime()) / 1000 / count;
  const indexes = await dropIndexes(db, ['messages', 'inbound_messages', 'conversations'], kept);
  const span = 500_000;
  for (let from = 1; from <= count; from += span) {
    await db.query(MESSAGES, [
      ids,
      from,
      Math.min(from + span - 1, count),
      step,
      Math.ceil(count / 4),
      BEGIN,
    ]);
    process.stdout.write(`\r${Math.min(from + span - 1, count)} messages`);
  }
  await db.query(REPLIES, [id, count, step, Math.ceil(count / 4), BEGIN]);
  await db.query(CONVERSATIONS, [id, Math.ceil(count / 4), END]);
  for (const definition of indexes) {
    process.stdout.write('.');
    await db.query(definition);
  }
  await db.query('set session_replication_role = origin');
  for (const table of ['messages', 'inbound_messages', 'conversations'])
    await db.query(`vacuum (analyze) ${table}`);
  await db.query('select note_workspace_sizes()');
  process.stdout.write('\n');
  return { id, lineId: hexId('65', 9), campaignId: hexId('66', 25), userId: `user_${'1'.padStart(24, '0')}` };
}

export const hexId = (prefix: string, n: number): string => prefix + n.toString(16).padStart(22, '0');

/** SQL for the fields of a message, from a counter `n`, its contact `c` and its time `t`. */
export const PHONE = `'+1' || (2000000000 + c * 7)`;
const LINE = `'65' || lpad(to_hex(c % ${LINES}), 22, '0')`;
const CAMPAIGN = (count: string): string =>
  `'66' || lpad(to_hex(n::bigint * ${CAMPAIGNS} / ${count}), 22, '0')`;

const MESSAGES = `
  insert into messages (workspace_id, id, channel, status, line_id, address, recipient_phone, body, scheduled_at, source,
    campaign_id, lead_id, created_by_user_id, created_at, updated_at, sent_at, delivered_at, fallback_sms)
  select ($1::text[])[case when n % 11 = 0 then 2 + n / 11 % ${OTHER_WORKSPACES} else 1 end],
    lpad(to_hex(extract(epoch from t)::bigint), 8, '0') || substr(md5(n::text), 1, 16), 'imessage', status, ${LINE}, ${PHONE}, ${PHONE},
    repeat('Hello there, ', 8) || n, t, 'campaign', ${CAMPAIGN('($5::bigint * 4 + 1)')}, lpad(to_hex(c), 24, '0'),
    case when n % 10 = 0 then 'user_' || lpad((n % 3)::text, 24, '0') end, t, t,
    case when status in ('sent', 'delivered') then t + interval '1 hour' end,
    case when status = 'delivered' then t + interval '1 hour' end,
    case when status = 'fallback' and n % 2 = 0 then 'dispatched' end
  from generate_series($2::int, $3::int) n, lateral (select
    $6::timestamptz + n * $4::float8 * interval '1 second' as t, n::bigint * 7919 % $5::bigint as c,
    case when n % 100 < 80 then 'delivered' when n % 100 < 88 then 'sent' when n % 100 < 92 then 'failed'
      when n % 100 < 95 then 'fallback' when n % 100 < 98 then 'canceled' else 'pending' end as status) m`;

/** Sends as many more messages, each to another contact, within the last hour before `END`. @param first of their numbers. */
export async function sendMore(
  db: pg.Client,
  { id }: LoadedWorkspace,
  { first, count, contacts }: { first: number; count: number; contacts: number },
): Promise<void> {
  await db.query(
    `insert into messages (workspace_id, id, channel, status, line_id, address, recipient_phone, body, scheduled_at, source, created_at, sent_at)
    select $1, lpad(to_hex(extract(epoch from t)::bigint), 8, '0') || substr(md5('more ' || n), 1, 16), 'imessage', 'sent', ${LINE}, ${PHONE},
      ${PHONE}, repeat('Hello there, ', 8) || n, t, 'api', t, t
    from generate_series($2::int, $2::int + $3::int - 1) n, lateral (select n::bigint * 7907 % $4::bigint as c,
      $5::timestamptz - (1 + n % 3599) * interval '1 second' as t) m`,
    [id, first, count, contacts, END],
  );
}

const REPLIES = `
  insert into inbound_messages (workspace_id, id, line_id, address, carrier_message_id, body, campaign_id, auto_reply, received_at)
  select $1, lpad(to_hex(n), 24, '0'), ${LINE}, ${PHONE}, n::text, 'Tell me more', ${CAMPAIGN('($2::bigint + 1)')}, n % 70 = 0,
    $5::timestamptz + n * $3::float8 * interval '1 second' + interval '2 hours'
  from generate_series(1, $2::int, 10) n, lateral (select n::bigint * 7919 % $4::bigint as c) m`;

const CONVERSATIONS = `
  insert into conversations (workspace_id, address, line_id, last_outbound_at, last_inbound_at, tags)
  select $1, ${PHONE}, ${LINE}, $3::timestamptz - c * interval '1 second',
    case when c % 10 = 0 then $3::timestamptz - c * interval '1 second' + interval '10 minutes' end,
    case when c % 50 = 0 then array['Interested'] else '{}' end
  from generate_series(0, $2::int - 1) c`;

/**
 * @param kept selects indexes by name.
 * @returns the definitions of the indexes to create again.
 */
export async function dropIndexes(db: pg.Client, tables: readonly string[], kept: RegExp): Promise<string[]> {
  const { rows } = await db.query<{ name: string; definition: string }>(
    `select indexname "name", indexdef definition from pg_indexes
     where tablename = any($1) and indexname not like '%_pkey'`,
    [tables],
  );
  for (const { name } of rows) await db.query(`drop index ${name}`);
  return rows.filter(({ name }) => kept.test(name)).map(({ definition }) => definition);
}
