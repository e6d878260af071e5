import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { Channel } from '#domain/base/channel.ts';
import { ConsentCoverage } from '#domain/contacts/consent.ts';
import { erasedAmong, hasErasedOptOuts } from './opt-outs.ts';

/** As `addressOn` chooses it. */
const ADDRESS_ON = {
  imessage: sql.fragment`coalesce(contact_key(l.phones[1]), l.emails[1])`,
  sms: sql.fragment`contact_key(l.phones[1])`,
  email: sql.fragment`l.emails[1]`,
};

const leadsOf = (db: TenantDb, leads: FragmentSqlToken, channel: Channel) => sql.fragment`
  select l.id, ${ADDRESS_ON[channel]} address
  from (${leads}) a join leads l on l.workspace_id = ${db.workspaceId} and l.id = a.lead_id`;

/** What leads have consented to on a channel. @param leads a query for `lead_id`. */
export async function consentCoverage(
  db: TenantDb,
  leads: FragmentSqlToken,
  channel: Channel,
): Promise<ConsentCoverage> {
  const erased = await erasedOptOuts(db, leads, channel);
  return db.one(sql.type(ConsentCoverage)`
    with leads_of_list as materialized (${leadsOf(db, leads, channel)}),
    -- Materialized, so that each lead is looked up once.
    judged as materialized (
      select m.address,
        m.address in (select address from opt_outs where workspace_id = ${db.workspaceId})
          or m.address = any(${sql.array(erased, 'text')}) opted_out,
        m.address in (
          select suppressed_among(array(select address from leads_of_list where address is not null))
        ) suppressed,
        (
          select c.status from consents c
          where c.workspace_id = ${db.workspaceId} and c.address = m.address and c.channel in (${channel}, 'any')
          order by c.at desc, c.id desc limit 1
        ) status
      from leads_of_list m
    )
    select count(*) total,
      count(*) filter (where address is null) unreachable,
      count(*) filter (where opted_out) opted_out,
      count(*) filter (where not opted_out and suppressed) suppressed,
      count(*) filter (where not opted_out and not suppressed and status = 'granted') granted,
      count(*) filter (where not opted_out and not suppressed and status = 'revoked') revoked,
      count(*) filter (where address is not null and not opted_out and not suppressed and status is null) unknown
    from judged`);
}

const LeadRow = z.object({ id: z.string(), address: z.string().nullable() });

/** Hashed at a time, which takes some milliseconds. */
const PAGE = 2000;

/** The addresses that opted out before their contacts were erased: only their hashes are known. */
async function erasedOptOuts(db: TenantDb, leads: FragmentSqlToken, channel: Channel): Promise<string[]> {
  const found: string[] = [];
  if (!(await db.exists(sql.type(NoRows)`select 1 where ${hasErasedOptOuts(db)}`))) return found;
  for (let after = ''; ;) {
    const rows = await db.any(sql.type(LeadRow)`
      select * from (${leadsOf(db, leads, channel)}) m where id > ${after} order by id limit ${PAGE}`);
    found.push(
      ...(await erasedAmong(
        db,
        rows.flatMap(({ address }) => address ?? []),
      )),
    );
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return found;
    after = last.id;
  }
}
