import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import type { OptOut } from '#domain/contacts/opt-out.ts';
import { digitsSearched } from '#domain/base/phone.ts';
import { containsText } from '../base/search.ts';
import { formsOf } from '#domain/base/contact-key.ts';
import { amongParticipants } from '../inbox/groups.ts';

export const OptOutRow = z.object({ address: z.string(), source: z.string(), createdAt: z.date() });
export type OptOutRow = z.infer<typeof OptOutRow>;

export const presentOptOut = ({ address, source, createdAt }: OptOutRow): OptOut => ({
  address,
  source,
  createdAt: createdAt.toISOString(),
});

/** The opt-outs of these addresses. */
export async function findOptOuts(db: TenantDb, addresses: readonly string[]): Promise<OptOutRow[]> {
  const rows = await db.any(sql.type(OptOutRow)`
    select address, source, created_at from opt_outs
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')}) order by address`);
  return [...rows];
}

/** Newest first, starting after the position `after`. */
export async function listOptOuts(
  db: TenantDb,
  {
    limit,
    after,
    search,
  }: { limit: number; after: { at: Date; key: string } | null; search?: string | undefined },
): Promise<OptOutRow[]> {
  const digits = search === undefined ? null : digitsSearched(search);
  const rows = await db.any(sql.type(OptOutRow)`
    select address, source, created_at from opt_outs where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId}`,
      search !== undefined &&
        sql.or([
          containsText(sql.fragment`address`, search),
          digits !== null && containsText(sql.fragment`address`, digits),
        ]),
      after && sql.fragment`(created_at, address) < (${sql.timestamp(after.at)}, ${after.key})`,
    ])}
    order by created_at desc, address desc limit ${limit}`);
  return [...rows];
}

const KnownRow = z.object({ known: z.array(z.string()), hasErased: z.boolean() });

/** Whether the workspace has opt-outs of erased contacts: only then are hashes looked up. */
export const hasErasedOptOuts = (db: TenantDb) =>
  sql.fragment`exists (select from erased_opt_outs where workspace_id = ${db.workspaceId})`;

/** The given addresses that have opted out, including before their contact was erased, and groups in which somebody has. */
export async function optedOutAmong(
  db: TenantDb,
  addresses: readonly string[],
): Promise<ReadonlySet<string>> {
  if (addresses.length === 0) return new Set();
  return amongParticipants(db, addresses, async (people) => {
    const { known, hasErased } = await db.one(sql.type(KnownRow)`
      select ${hasErasedOptOuts(db)} has_erased, array(
        select address from opt_outs
        where workspace_id = ${db.workspaceId} and address = any(${sql.array([...people], 'text')})) known`);
    return new Set([...known, ...(hasErased ? await erasedAmong(db, people) : [])]);
  });
}

export const isOptedOut = async (db: TenantDb, address: string): Promise<boolean> =>
  (await optedOutAmong(db, [address])).has(address);

const HashRow = z.object({ addressHash: z.string() });

/** Those of the addresses that opted out before their contact was erased. */
export async function erasedAmong(db: TenantDb, addresses: readonly string[]): Promise<string[]> {
  const forms = addresses.map(formsOf);
  const hashes = await db.addressHashes.of(db.workspaceId, forms.flat());
  if (!hashes) return [];
  const found = new Set(
    await db.anyFirst(sql.type(HashRow)`
      select address_hash from erased_opt_outs
      where workspace_id = ${db.workspaceId} and address_hash = any(${sql.array(hashes, 'text')})`),
  );
  const optedOut = new Set(forms.flat().filter((_, index) => found.has(hashes[index] ?? '')));
  return addresses.filter((_, index) => forms[index]?.some((form) => optedOut.has(form)));
}

/** @returns whether there was one. */
export async function deleteErasedOptOut(db: TenantDb, address: string): Promise<boolean> {
  const any = await db.exists(sql.type(NoRows)`select 1 where ${hasErasedOptOuts(db)}`);
  if (!any) return false;
  const hashes = await db.addressHashes.of(db.workspaceId, formsOf(address));
  if (!hashes) return false;
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from erased_opt_outs
    where workspace_id = ${db.workspaceId} and address_hash = any(${sql.array(hashes, 'text')})`);
  return rowCount > 0;
}

/**
 * Stores an opt-out of an erased contact as a hash, while the address of its pseudonym is known.
 * @returns whether it is new.
 */
export async function insertErasedOptOut(
  db: TenantDb,
  pseudonym: string,
  { source, at }: { source: string; at: Date },
): Promise<boolean> {
  if (!isErased(pseudonym)) throw new Error('not a pseudonym');
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into erased_opt_outs (workspace_id, address_hash, source, created_at)
    select workspace_id, address_hash, ${source}, ${sql.timestamp(at)} from erased_addresses
    where workspace_id = ${db.workspaceId} and pseudonym = ${pseudonym}
    on conflict do nothing`);
  return rowCount > 0;
}

const HiddenRow = z.object({ addressHash: z.string(), source: z.string(), createdAt: z.date() });

/** Replaces the opt-outs of these addresses by hashes. */
export async function hideOptOuts(
  db: TenantDb,
  addresses: readonly { address: string; addressHash: string }[],
): Promise<void> {
  const hidden = await db.any(sql.type(HiddenRow)`
    delete from opt_outs o
    using ${sql.unnest(
      addresses.map(({ address, addressHash }) => [address, addressHash]),
      ['text', 'text'],
    )} as a (address, address_hash)
    where o.workspace_id = ${db.workspaceId} and o.address = a.address
    returning a.address_hash, o.source, o.created_at`);
  if (hidden.length === 0) return;
  await db.query(sql.type(NoRows)`
    insert into erased_opt_outs (workspace_id, address_hash, source, created_at)
    select ${db.workspaceId}, h.address_hash, h.source, h.created_at
    from ${sql.unnest(
      hidden.map(({ addressHash, source, createdAt }) => [addressHash, source, createdAt.toISOString()]),
      ['text', 'text', 'timestamptz'],
    )} as h (address_hash, source, created_at)
    on conflict do nothing`);
}
