import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { Group, groupAddress, isGroupAddress } from '#domain/inbox/group.ts';

const GroupRow = Group.extend({ lineId: z.string(), carrierGroupId: z.string().nullable() });
export type GroupRow = z.infer<typeof GroupRow>;

const COLUMNS = sql.fragment`id, line_id, carrier_group_id, name, participants`;

/** Those of the addresses that are groups, by address. */
export async function findGroups(
  db: TenantDb,
  addresses: readonly string[],
): Promise<ReadonlyMap<string, GroupRow>> {
  const ids = addresses.filter((address) => isGroupAddress(address)).map((address) => address.slice(-24));
  if (ids.length === 0) return new Map();
  const rows = await db.any(sql.type(GroupRow)`
    select ${COLUMNS} from group_chats
    where workspace_id = ${db.workspaceId} and id = any(${sql.array(ids, 'text')})`);
  return new Map(rows.map((row) => [groupAddress(row.id), row]));
}

export const presentGroup = ({ id, name, participants }: GroupRow): Group => ({ id, name, participants });

/** A group by the carrier's id of it. */
export const findGroupOf = (db: TenantDb, lineId: string, carrierGroupId: string): Promise<GroupRow | null> =>
  db.maybeOne(sql.type(GroupRow)`
    select ${COLUMNS} from group_chats
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_group_id = ${carrierGroupId}
    for no key update`);

/** Stores a group, or what has changed of it. */
export const storeGroup = (
  db: TenantDb,
  { id, lineId, carrierGroupId, name, participants }: GroupRow,
): Promise<GroupRow> =>
  db.one(sql.type(GroupRow)`
    insert into group_chats (workspace_id, id, line_id, carrier_group_id, name, participants)
    values (${db.workspaceId}, ${id}, ${lineId}, ${carrierGroupId}, ${name}, ${sql.array(participants, 'text')})
    on conflict (workspace_id, line_id, carrier_group_id) do update set name = excluded.name, participants = excluded.participants
    returning ${COLUMNS}`);

/** Names an erased contact no more. The name of a group may name its participants. */
export async function forgetParticipant(db: TenantDb, addresses: readonly string[]): Promise<void> {
  const erased = sql.array([...addresses], 'text');
  await db.query(sql.type(NoRows)`
    update group_chats set name = null, participants = array(
      select p from unnest(participants) with ordinality as p (p, n) where p <> all(${erased}) order by n)
    where workspace_id = ${db.workspaceId} and participants && ${erased}`);
}
