import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { addLookup, lookUp, removeLookup } from '#db/queries/accounts/lookups.ts';
import { newId } from '#domain/base/ids.ts';
import {
  messageLinks,
  type OptInLink,
  type OptInLinkInput,
  optInText,
} from '#domain/contacts/opt-in-link.ts';
import { Channel } from '#domain/base/channel.ts';

/** A link with the line to which the contact writes: the first that is usable if it names a pool. */
const OptInLinkRow = z.object({
  id: z.string(),
  code: z.string(),
  name: z.string(),
  lineId: z.string().nullable(),
  poolId: z.string().nullable(),
  text: z.string(),
  consent: z.string(),
  listId: z.string().nullable(),
  tags: z.array(z.string()),
  campaignId: z.string().nullable(),
  visits: z.int(),
  messages: z.int(),
  leads: z.int(),
  createdAt: z.date(),
  channel: Channel.nullable(),
  phone: z.string().nullable(),
  email: z.string().nullable(),
});
export type OptInLinkRow = z.infer<typeof OptInLinkRow>;

const links = (db: TenantDb) => sql.fragment`
  select o.*, l.channel, l.phone, l.email from opt_in_links o
  left join lateral (
    select l.channel, l.phone, l.email from lines l
    where l.workspace_id = ${db.workspaceId} and l.channel <> 'email' and (l.id = o.line_id or l.id in (
      select m.line_id from pool_lines m where m.workspace_id = ${db.workspaceId} and m.pool_id = o.pool_id))
    order by l.is_active and l.provisioning_status = 'active' desc, l.id limit 1
  ) l on true
  where o.workspace_id = ${db.workspaceId}`;

/** Newest first; returns `limit + 1` rows if there are more. */
export async function pageOfOptInLinks(
  db: TenantDb,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<OptInLinkRow[]> {
  const rows = await db.any(sql.type(OptInLinkRow)`
    ${links(db)} and ${cursor === undefined ? sql.fragment`true` : sql.fragment`o.id < ${cursor}`}
    order by o.id desc limit ${limit + 1}`);
  return [...rows];
}

export const findOptInLink = (db: TenantDb, id: string): Promise<OptInLinkRow | null> =>
  db.maybeOne(sql.type(OptInLinkRow)`${links(db)} and o.id = ${id}`);

/** The link of which a message contains the code. */
export const optInLinkOf = (db: TenantDb, codes: readonly string[]): Promise<OptInLinkRow | null> =>
  db.maybeOne(sql.type(OptInLinkRow)`
    ${links(db)} and o.code = any(${sql.array([...codes], 'text')}) order by o.id limit 1`);

/** The workspace whose link has this code. */
export const workspaceOfOptInLink = (db: SystemDb, code: string): Promise<string | null> =>
  lookUp(db, 'opt_in_link', code);

export async function insertOptInLink(
  db: TenantDb,
  { name, lineId, poolId, text, listId, tags, campaignId, consent }: OptInLinkInput,
  code: string,
  now: Date,
): Promise<OptInLinkRow> {
  const id = newId(now);
  await db.query(sql.type(NoRows)`
    insert into opt_in_links (workspace_id, id, code, name, line_id, pool_id, text, consent, list_id, tags, campaign_id)
    values (${db.workspaceId}, ${id}, ${code}, ${name}, ${lineId ?? null}, ${poolId ?? null}, ${text}, ${consent},
      ${listId ?? null}, ${sql.array(tags ?? [], 'text')}, ${campaignId ?? null})`);
  await addLookup(db, 'opt_in_link', code);
  const row = await findOptInLink(db, id);
  if (!row) throw new Error('the link was not inserted');
  return row;
}

const CodeRow = OptInLinkRow.pick({ code: true });

/** @returns false if there is no such link. */
export async function deleteOptInLink(db: TenantDb, id: string): Promise<boolean> {
  const code = await db.maybeOneFirst(sql.type(CodeRow)`
    delete from opt_in_links where workspace_id = ${db.workspaceId} and id = ${id} returning code`);
  if (code !== null) await removeLookup(db, 'opt_in_link', code);
  return code !== null;
}

/** Counts a step of contacts towards becoming leads. */
export async function countOptIn(
  db: TenantDb,
  id: string,
  { visits = 0, messages = 0, leads = 0 }: { visits?: number; messages?: number; leads?: number },
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update opt_in_links set visits = visits + ${visits}, messages = messages + ${messages}, leads = leads + ${leads}
    where workspace_id = ${db.workspaceId} and id = ${id}`);
}

export const optInUrl = (publicUrl: string, code: string): string => `${publicUrl}/join/${code}`;

/** How a contact writes the message of a link. */
export const optInMessage = (row: OptInLinkRow): ReturnType<typeof messageLinks> => {
  const { channel, phone, email } = row;
  return messageLinks(channel === null ? null : { channel, phone, email }, optInText(row));
};

export function presentOptInLink(row: OptInLinkRow, publicUrl: string): OptInLink {
  const { id, createdAt, visits, messages, leads } = row;
  const { name, lineId, poolId, text, code, listId, tags, campaignId, consent } = row;
  const url = optInUrl(publicUrl, code);
  const { sms, imessage } = optInMessage(row);
  return {
    _id: id,
    name,
    lineId,
    poolId,
    text,
    code,
    listId,
    tags,
    campaignId,
    consent,
    url,
    qr: `${url}/qr.svg`,
    sms,
    imessage,
    funnel: { visits, messages, leads },
    createdAt: createdAt.toISOString(),
  };
}
