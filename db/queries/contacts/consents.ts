import { sql } from 'slonik';
import { z } from 'zod';
import { AddressRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { Channel } from '#domain/base/channel.ts';
import {
  type Consent,
  ConsentChannel,
  consentKey,
  ConsentSource,
  ConsentStatus,
  type NewConsent,
} from '#domain/contacts/consent.ts';
import { newId } from '#domain/base/ids.ts';

export const ConsentRow = z.object({
  id: z.string(),
  address: z.string(),
  channel: ConsentChannel,
  status: ConsentStatus,
  source: ConsentSource,
  evidence: z.string().nullable(),
  at: z.date(),
  recordedBy: z.string().nullable(),
  createdAt: z.date(),
});
export type ConsentRow = z.infer<typeof ConsentRow>;

export const presentConsent = ({ id, at, createdAt, ...row }: ConsentRow): Consent => ({
  _id: id,
  ...row,
  at: at.toISOString(),
  recordedAt: createdAt.toISOString(),
  createdAt: createdAt.toISOString(),
});

/** Adds entries to the ledger, in order. */
export async function insertConsents(
  db: TenantDb,
  consents: readonly NewConsent[],
  now: Date,
): Promise<readonly ConsentRow[]> {
  if (consents.length === 0) return [];
  const rows = consents.map(
    ({ address, channel, status, source, evidence, at, origin, replyId, recordedBy }) => [
      newId(now),
      address,
      channel,
      status,
      source,
      evidence,
      at.toISOString(),
      origin ?? null,
      replyId ?? null,
      recordedBy ?? null,
    ],
  );
  return db.any(sql.type(ConsentRow)`
    insert into consents (workspace_id, id, address, channel, status, source, evidence, at, origin, reply_id, recorded_by)
    select ${db.workspaceId}, c.* from ${sql.unnest(rows, ['text', 'text', 'text', 'text', 'text', 'text', 'timestamptz', 'text', 'text', 'text'])}
      as c (id, address, channel, status, source, evidence, at, origin, reply_id, recorded_by)
    returning *`);
}

export interface ConsentFilter {
  address?: string | undefined;
  channel?: z.infer<typeof ConsentChannel> | undefined;
  status?: z.infer<typeof ConsentStatus> | undefined;
}

/** Newest first, starting after the id `cursor`. */
export async function listConsents(
  db: TenantDb,
  { address, channel, status }: ConsentFilter,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<ConsentRow[]> {
  const rows = await db.any(sql.type(ConsentRow)`
    select * from consents where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId}`,
      address !== undefined && sql.fragment`address = ${address}`,
      channel !== undefined && sql.fragment`channel = ${channel}`,
      status !== undefined && sql.fragment`status = ${status}`,
      cursor !== undefined && sql.fragment`id < ${cursor}`,
    ])}
    order by id desc limit ${limit}`);
  return [...rows];
}

/** By their ids, in any order. */
export async function findConsents(db: TenantDb, ids: readonly string[]): Promise<readonly ConsentRow[]> {
  return db.any(sql.type(ConsentRow)`
    select * from consents where workspace_id = ${db.workspaceId} and id = any(${sql.array([...ids], 'text')})`);
}

/** The entries of these addresses, oldest first, after the id `after`. */
export async function consentsOf(
  db: TenantDb,
  addresses: readonly string[],
  { limit, after }: { limit: number; after: string },
): Promise<readonly ConsentRow[]> {
  return db.any(sql.type(ConsentRow)`
    select * from consents
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')}) and id > ${after}
    order by id limit ${limit}`);
}

const TargetRow = z.object({ address: z.string(), channel: z.enum(['imessage', 'sms', 'email']) });

/** The given addresses and channels whose latest entry is a consent, by `consentKey`. */
export async function consentedAmong(
  db: TenantDb,
  targets: readonly { address: string; channel: Channel }[],
): Promise<ReadonlySet<string>> {
  if (targets.length === 0) return new Set();
  const rows = await db.any(sql.type(TargetRow)`
    select distinct t.address, t.channel
    from ${sql.unnest(
      targets.map(({ address, channel }) => [address, channel]),
      ['text', 'text'],
    )} as t (address, channel)
    cross join lateral (
      select c.status from consents c
      where c.workspace_id = ${db.workspaceId} and c.address = t.address and c.channel in (t.channel, 'any')
      order by c.at desc, c.id desc limit 1
    ) latest
    where latest.status = 'granted'`);
  return new Set(rows.map(({ address, channel }) => consentKey(address, channel)));
}

const StatusRow = z.object({ status: ConsentStatus });

/** Whether the latest entry of an address withdraws its consent. */
export async function isRevoked(db: TenantDb, address: string, channel: Channel): Promise<boolean> {
  const latest = await db.maybeOneFirst(sql.type(StatusRow)`
    select status from consents
    where workspace_id = ${db.workspaceId} and address = ${address} and channel in (${channel}, 'any')
    order by at desc, id desc limit 1`);
  return latest === 'revoked';
}

/** The given addresses that have opted in again after a time. */
export async function optedInSince(
  db: TenantDb,
  addresses: readonly string[],
  since: Date,
): Promise<ReadonlySet<string>> {
  if (addresses.length === 0) return new Set();
  const rows = await db.anyFirst(sql.type(AddressRow)`
    select distinct address from consents
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')}) and at > ${sql.timestamp(since)}
      and origin is not null and status = 'granted'`);
  return new Set(rows);
}

/** Deletes the ledger entries of erased addresses. Contacts who last withdrew their consent stay opted out, as hashes. */
export async function eraseConsents(
  db: TenantDb,
  erased: readonly { address: string; addressHash: string }[],
): Promise<void> {
  const addresses = sql.array(
    erased.map(({ address }) => address),
    'text',
  );
  await db.query(sql.type(NoRows)`
    insert into erased_opt_outs (workspace_id, address_hash, source, created_at)
    select ${db.workspaceId}, e.address_hash, 'api', latest.at
    from ${sql.unnest(
      erased.map(({ address, addressHash }) => [address, addressHash]),
      ['text', 'text'],
    )} as e (address, address_hash)
    cross join lateral (
      select c.status, c.at from consents c where c.workspace_id = ${db.workspaceId} and c.address = e.address
      order by c.at desc, c.id desc limit 1
    ) latest
    where latest.status = 'revoked'
    on conflict do nothing`);
  await db.query(sql.type(NoRows)`select erase_consents(${db.workspaceId}, ${addresses})`);
}
