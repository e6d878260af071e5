import { sql } from 'slonik';
import { z } from 'zod';
import type { InboundUsage, StorageUsage } from '#domain/messages/storage-quota.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

const UsageRow = z.object({ total: z.int(), today: z.int() });

const isToday = sql.fragment`day = (now() at time zone 'UTC')::date`;

/**
 * The workspace's storage usage. After a transaction has stored a file, the usage row is locked, so the result cannot
 * change until it commits.
 */
export async function storageUsage(db: TenantDb): Promise<StorageUsage> {
  const usage = await db.maybeOne(sql.type(UsageRow)`
    select bytes total, case when ${isToday} then day_bytes - inbound_day_bytes else 0 end today
    from storage_usage where workspace_id = ${db.workspaceId}`);
  return usage ?? { total: 0, today: 0 };
}

const InboundUsageRow = z.object({ total: z.int(), today: z.int(), ofContactToday: z.int() });

/** What contacts have sent. @param address of the contact; null: of none. */
export async function inboundUsage(db: TenantDb, address: string | null): Promise<InboundUsage> {
  const usage = await db.maybeOne(sql.type(InboundUsageRow)`
    select u.bytes total, case when ${isToday} then u.inbound_day_bytes else 0 end today,
      case when ${isToday} and c.files_day = u.days then c.files_bytes else 0 end of_contact_today
    from storage_usage u
    left join conversations c on c.workspace_id = u.workspace_id and c.address = ${address}
    where u.workspace_id = ${db.workspaceId}`);
  return usage ?? { total: 0, today: 0, ofContactToday: 0 };
}

/** Counts a file of a contact, after it was recorded as stored. @param size in bytes. */
export async function countInbound(db: TenantDb, address: string, size: number): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into conversations as c (workspace_id, address, files_day, files_bytes)
    select ${db.workspaceId}, ${address}, days, ${size} from storage_usage where workspace_id = ${db.workspaceId}
    on conflict (workspace_id, address) do update set files_day = excluded.files_day,
      files_bytes = excluded.files_bytes + case when c.files_day = excluded.files_day then c.files_bytes else 0 end`);
}
