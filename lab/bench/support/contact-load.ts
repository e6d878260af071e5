import type pg from 'pg';
import { newApiKey } from '../../../domain/accounts/api-key.ts';
import { newId } from '../../../domain/base/ids.ts';
import { CAMPAIGNS, dropIndexes, hexId, LINES, PHONE } from './message-load.ts';

const LISTS = 20;
export const listId = (n: number): string => hexId('67', n % LISTS);

/**
 * Adds leads, lists, campaigns and lines to the workspace of `loadMessages`: the leads are its first contacts, each in a
 * list and a campaign.
 * @returns a key of the workspace.
 */
export async function loadContacts(db: pg.Client, workspaceId: string, leads: number): Promise<string> {
  const { key, hash, prefix, last4 } = newApiKey('workspace');
  await db.query('set session_replication_role = replica');
  await db.query(
    `update workspaces set timezone = 'UTC', country = 'US', plan = 'growth', subscription_status = 'active' where id = $1`,
    [workspaceId],
  );
  await db.query(
    `insert into workspace_keys (workspace_id, id, name, hash, prefix, last4) values ($1, $2, 'Bench', $3, $4, $5)`,
    [workspaceId, newId(), hash, prefix, last4],
  );
  await db.query(`insert into lookups (kind, key, workspace_id) values ('key', $1, $2)`, [hash, workspaceId]);
  const indexes = await dropIndexes(db, ['leads', 'list_addresses', 'campaign_leads'], /./);
  for (const statement of [LINE_ROWS, LIST_ROWS, CAMPAIGN_ROWS, LEAD_ROWS, ADDRESS_ROWS, CAMPAIGN_LEAD_ROWS])
    await db.query(statement, [workspaceId, leads]);
  for (const definition of indexes) await db.query(definition);
  await db.query('set session_replication_role = origin');
  for (const table of ['lines', 'lead_lists', 'leads', 'list_addresses', 'campaigns', 'campaign_leads'])
    await db.query(`vacuum (analyze) ${table}`);
  await db.query('select note_workspace_sizes()');
  return key;
}

const ID = (prefix: string, n: string): string => `'${prefix}' || lpad(to_hex(${n}), 22, '0')`;
const LEAD = `lpad(to_hex(c), 24, '0')`;
/** Makes `$2` part of a statement that has no use for it. */
const ANY_SIZE = '$2::int is not null';

const LINE_ROWS = `
  insert into lines (workspace_id, id, channel, phone, provisioning_status, carrier, daily_total_limit, daily_new_limit,
    min_gap_seconds, contact_gap_seconds)
  select $1, ${ID('65', 'n')}, 'imessage', '+14155550100', 'active', 'simulated', 150, 50, 20, 60
  from generate_series(0, ${LINES - 1}) n where ${ANY_SIZE}`;

const LIST_ROWS = `
  insert into lead_lists (workspace_id, id, name, is_quick_sends, lead_count)
  select $1, ${ID('67', 'n')}, 'List ' || n, n = 0, $2::int / ${LISTS} from generate_series(0, ${LISTS - 1}) n`;

const CAMPAIGN_ROWS = `
  insert into campaigns (workspace_id, id, name, status, steps, list_id)
  select $1, ${ID('66', 'n')}, 'Campaign ' || n, 'active', '[{"message": "Hi", "delay": {}}]', ${ID('67', `n % ${LISTS}`)}
  from generate_series(0, ${CAMPAIGNS - 1}) n where ${ANY_SIZE}`;

const LEAD_ROWS = `
  insert into leads (workspace_id, id, list_id, first_name, last_name, emails, phones, company_name, custom_fields)
  select $1, ${LEAD}, ${ID('67', `c % ${LISTS}`)}, 'Ada' || c, 'Lovelace',
    array['person' || c || '@example.com'], array[${PHONE}], 'Company ' || c % 1000, '{"city": "Rome"}'
  from generate_series(0, $2::int - 1) c`;

const ADDRESS_ROWS = `
  insert into list_addresses (workspace_id, list_id, address, lead_id)
  select $1, ${ID('67', `c % ${LISTS}`)}, address, ${LEAD}
  from generate_series(0, $2::int - 1) c, unnest(array[${PHONE}, 'person' || c || '@example.com']) address`;

const CAMPAIGN_LEAD_ROWS = `
  insert into campaign_leads (workspace_id, campaign_id, lead_id, state)
  select $1, ${ID('66', `c % ${CAMPAIGNS}`)}, ${LEAD}, case when c % 3 = 0 then 'running' else 'finished' end
  from generate_series(0, $2::int - 1) c`;
