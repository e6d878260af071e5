import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { texts } from '../contacts/contacts.ts';

/** Rows of one page: each is to be decrypted. */
const PAGE = 500;

const MailRow = z.object({ id: z.string(), dataSealed: z.string() });

/** The next emails of the workspace to its members, which may quote a contact, by id. */
export async function nextMails(
  db: TenantDb,
  { after, last }: { after: string; last: string },
): Promise<readonly z.infer<typeof MailRow>[]> {
  return db.any(sql.type(MailRow)`
    select id, data_sealed from mails
    where workspace_id = ${db.workspaceId} and id > ${after} and id <= ${last} and data_sealed <> ''
      and template in ('replyAlert', 'notice')
    order by id limit ${PAGE}`);
}

/** Deletes the content of these emails; waiting ones are not sent. */
export async function emptyMails(db: TenantDb, ids: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    update mails set data_sealed = '', error = case when status = 'pending' then 'erased' else error end,
      status = case when status = 'pending' then 'failed' else status end
    where workspace_id = ${db.workspaceId} and id = any(${texts(ids)})`);
}

const ResponseRow = z.object({ route: z.string(), key: z.string(), response: z.unknown() });
export type StoredResponse = z.infer<typeof ResponseRow>;

/** The next responses that are kept for retries. */
export async function nextResponses(
  db: TenantDb,
  after: { route: string; key: string },
): Promise<readonly StoredResponse[]> {
  return db.any(sql.type(ResponseRow)`
    select route, key, response from idempotency_keys
    where workspace_id = ${db.workspaceId} and (route, key) > (${after.route}, ${after.key}) and status is not null
    order by route, key limit ${PAGE}`);
}

/** A retry is told that the contact was erased. */
export async function emptyResponse(
  db: TenantDb,
  { route, key }: Pick<StoredResponse, 'route' | 'key'>,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update idempotency_keys set response = null
    where workspace_id = ${db.workspaceId} and route = ${route} and key = ${key}`);
}
