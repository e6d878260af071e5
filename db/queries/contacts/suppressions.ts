import { sql } from 'slonik';
import { z } from 'zod';
import { AddressRow, NoRows } from '#db/connection/rows.ts';
import type { SystemTransaction, TenantDb } from '#db/connection/transactions.ts';
import { amongParticipants } from '../inbox/groups.ts';
import type { Suppression } from '#domain/contacts/suppression.ts';

const SuppressionRow = z.object({ value: z.string(), reason: z.string().nullable(), createdAt: z.date() });
export type SuppressionRow = z.infer<typeof SuppressionRow>;

export const presentSuppression = ({ value, reason, createdAt }: SuppressionRow): Suppression => ({
  address: value.startsWith('@') ? null : value,
  domain: value.startsWith('@') ? value.slice(1) : null,
  reason,
  createdAt: createdAt.toISOString(),
});

/** Adds entries; those that exist get the reason. @returns them, in the order of their values. */
export async function saveSuppressions(
  db: SystemTransaction,
  agencyId: string,
  entries: readonly { value: string; reason: string | null }[],
  { userId, now }: { userId: string | null; now: Date },
): Promise<readonly SuppressionRow[]> {
  const byValue = new Map(entries.map((entry) => [entry.value, entry]));
  const rows = [...byValue.values()]
    .toSorted((a, b) => (a.value < b.value ? -1 : 1))
    .map(({ value, reason }) => [value, reason]);
  return db.any(sql.type(SuppressionRow)`
    insert into agency_suppressions (agency_id, value, reason, created_by, created_at)
    select ${agencyId}, s.value, s.reason, ${userId}, ${sql.timestamp(now)} from ${sql.unnest(rows, ['text', 'text'])} as s (value, reason)
    on conflict (agency_id, value) do update set reason = excluded.reason
    returning value, reason, created_at`);
}

/** Newest first. */
export async function listSuppressions(
  db: SystemTransaction,
  agencyId: string,
  { limit, after }: { limit: number; after: { at: Date; key: string } | null },
): Promise<SuppressionRow[]> {
  const rows = await db.any(sql.type(SuppressionRow)`
    select value, reason, created_at from agency_suppressions where ${sql.and([
      sql.fragment`agency_id = ${agencyId}`,
      after && sql.fragment`(created_at, value) < (${sql.timestamp(after.at)}, ${after.key})`,
    ])}
    order by created_at desc, value desc limit ${limit}`);
  return [...rows];
}

/** @returns false if there was none. */
export async function deleteSuppression(
  db: SystemTransaction,
  agencyId: string,
  value: string,
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from agency_suppressions where agency_id = ${agencyId} and value = ${value}`);
  return rowCount > 0;
}

/** Those of the addresses that the agency of the workspace suppresses, and groups in which it suppresses somebody. */
export async function suppressedAmong(
  db: TenantDb,
  addresses: readonly string[],
): Promise<ReadonlySet<string>> {
  if (addresses.length === 0) return new Set();
  return amongParticipants(
    db,
    addresses,
    async (people) =>
      new Set(
        await db.anyFirst(sql.type(AddressRow)`
          select address from suppressed_among(${sql.array([...people], 'text')}) as s (address)`),
      ),
  );
}
