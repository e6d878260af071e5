import { sql } from 'slonik';
import { z } from 'zod';
import type { Keyword, OptOut, OptOutSource } from '#domain/opt-out.ts';
import { webhookDispatcherId } from '#workflows/messages/wake.ts';
import { stopContact, wakeWhenDone } from '#db/commands/campaigns/campaign-stops.ts';
import { emitMessageEvents } from './message-events.ts';
import { MessageRow } from '#db/queries/messages.ts';
import type { TenantDb } from '#db/pool.ts';

const OptOutRow = z.object({ address: z.string(), source: z.string(), createdAt: z.date() });
export type OptOutRow = z.infer<typeof OptOutRow>;

export const presentOptOut = ({ address, source, createdAt }: OptOutRow): OptOut => ({
  address,
  source,
  createdAt: createdAt.toISOString(),
});

/** What an opt-out ended: the campaigns that were stopped for the contact, and the messages that were failed. */
export interface EndedByOptOut {
  campaignIds: string[];
  failed: MessageRow[];
}

/**
 * Keeps the workspace from writing to an address: ends its campaigns, and fails what else waits for it; one that is opted out stays as it is.
 * @returns the opt-out, and what it ended: `announceOptOut` tells of that, after all other locks.
 */
export async function optOut(
  db: TenantDb,
  address: string,
  source: OptOutSource,
  at: Date,
): Promise<{ optOut: OptOutRow; ended: EndedByOptOut }> {
  // The assignment changes nothing: it makes the row that is there already come back.
  const row = await db.one(sql.type(OptOutRow)`
    insert into opt_outs (workspace_id, address, source, created_at)
    values (${db.workspaceId}, ${address}, ${source}, ${sql.timestamp(at)})
    on conflict (workspace_id, address) do update set source = opt_outs.source
    returning address, source, created_at`);
  const campaignIds = await stopContact(db, address, 'opt_out');
  return { optOut: row, ended: { campaignIds, failed: await failOptedOut(db, [address]) } };
}

/** @returns the workflows to wake after the commit. */
export async function announceOptOut(
  db: TenantDb,
  { campaignIds, failed }: EndedByOptOut,
  now: Date,
): Promise<string[]> {
  const wakes = await wakeWhenDone(db, campaignIds, now);
  return (await emitOptedOut(db, failed, now)) ? [...wakes, webhookDispatcherId(db.workspaceId)] : wakes;
}

/** @returns false when the address was not opted out. */
export async function optIn(db: TenantDb, address: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(z.unknown())`
    delete from opt_outs where workspace_id = ${db.workspaceId} and address = ${address}`);
  return rowCount > 0;
}

/**
 * What a contact's own word changes. The latest word by the carrier's clock holds, in whatever order they arrive.
 * @returns what it ended; null: nothing.
 */
export async function applyKeyword(
  db: TenantDb,
  address: string,
  keyword: Keyword,
  at: Date,
): Promise<EndedByOptOut | null> {
  const outdated = await db.exists(sql.type(z.unknown())`
    select 1 from inbound_messages where workspace_id = ${db.workspaceId} and address = ${address}
      and keyword is not null and keyword <> ${keyword} and received_at > ${sql.timestamp(at)}`);
  if (outdated) return null;
  if (keyword === 'stop') return (await optOut(db, address, 'reply', at)).ended;
  await optIn(db, address);
  return null;
}

/** Fails what waits for addresses that have opted out; messages that have left are not touched. */
export async function failOptedOut(db: TenantDb, addresses: readonly string[]): Promise<MessageRow[]> {
  if (addresses.length === 0) return [];
  const rows = await db.any(sql.type(MessageRow)`
    update messages m set status = 'failed', hold_reason = null, error_message = 'recipient_opted_out', updated_at = now()
    from opt_outs o
    where o.workspace_id = ${db.workspaceId} and o.address = any(${sql.array([...addresses], 'text')})
      and m.workspace_id = o.workspace_id and m.address = o.address and m.status in ('pending', 'scheduled')
    returning m.*`);
  return [...rows];
}

/** @returns true when the webhook dispatcher has to be woken after the commit. */
export function emitOptedOut(db: TenantDb, failed: readonly MessageRow[], now: Date): Promise<boolean> {
  const data = { error: 'recipient_opted_out' };
  return emitMessageEvents(
    db,
    failed.map((message) => ({ event: 'message.failed' as const, message, data })),
    now,
  );
}

export async function isOptedOut(db: TenantDb, address: string): Promise<boolean> {
  return db.exists(sql.type(z.unknown())`
    select 1 from opt_outs where workspace_id = ${db.workspaceId} and address = ${address}`);
}

/** Newest first, before the position `after`. */
export async function listOptOuts(
  db: TenantDb,
  { limit, after }: { limit: number; after: { at: Date; key: string } | null },
): Promise<OptOutRow[]> {
  const rows = await db.any(sql.type(OptOutRow)`
    select address, source, created_at from opt_outs where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId}`,
      after && sql.fragment`(created_at, address) < (${sql.timestamp(after.at)}, ${after.key})`,
    ])}
    order by created_at desc, address desc limit ${limit}`);
  return [...rows];
}
