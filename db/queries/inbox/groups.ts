import { sql } from 'slonik';
import { z } from 'zod';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { Group, groupAddress, groupIdOf } from '#domain/inbox/group.ts';

const GroupRow = Group.extend({ lineId: z.string(), carrierGroupId: z.string().nullable() });
export type GroupRow = z.infer<typeof GroupRow>;

const COLUMNS = sql.fragment`id, line_id, carrier_group_id, name, participants`;

/** Those of the addresses that are groups, by address. */
export async function findGroups(
  db: TenantDb,
  addresses: readonly string[],
): Promise<ReadonlyMap<string, GroupRow>> {
  const ids = addresses.flatMap((address) => groupIdOf(address) ?? []);
  if (ids.length === 0) return new Map();
  const rows = await db.any(sql.type(GroupRow)`
    select ${COLUMNS} from group_chats
    where workspace_id = ${db.workspaceId} and id = any(${sql.array(ids, 'text')})`);
  return new Map(rows.map((row) => [groupAddress(row.id), row]));
}

/** Those of the addresses that `find` returns, and the groups in which it returns somebody. */
export async function amongParticipants(
  db: TenantDb,
  addresses: readonly string[],
  find: (people: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<ReadonlySet<string>> {
  const groups = await findGroups(db, addresses);
  if (groups.size === 0) return find(addresses);
  const participants = [...groups.values()].flatMap((group) => group.participants);
  const found = await find([...addresses, ...participants]);
  const isFound = (address: string): boolean => found.has(address);
  return new Set(
    addresses.filter((address) => isFound(address) || groups.get(address)?.participants.some(isFound)),
  );
}

export const presentGroup = ({ id, name, participants }: GroupRow): Group => ({ id, name, participants });

/** A group by its id; null: the workspace has none. */
export const findGroup = (db: TenantDb, id: string): Promise<GroupRow | null> =>
  db.maybeOne(sql.type(GroupRow)`
    select ${COLUMNS} from group_chats where workspace_id = ${db.workspaceId} and id = ${id}`);

/** A group as its carrier knows it; null: it has been deleted. */
export async function findCarrierGroup(
  db: TenantDb,
  address: string,
): Promise<{ id: string | null; participants: string[] } | null> {
  const id = groupIdOf(address);
  const group = id === null ? null : await findGroup(db, id);
  return group && { id: group.carrierGroupId, participants: group.participants };
}

/** A group by the carrier's id of it. */
export const findGroupOf = (db: TenantDb, lineId: string, carrierGroupId: string): Promise<GroupRow | null> =>
  db.maybeOne(sql.type(GroupRow)`
    select ${COLUMNS} from group_chats
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_group_id = ${carrierGroupId}
    for no key update`);

const hasExactly = (people: readonly string[]) => {
  const those = sql.array([...people], 'text');
  return sql.fragment`participants @> ${those} and participants <@ ${those}`;
};

/** The group of a line with exactly these participants. On a phone as well, the same people are the same conversation. */
export const findGroupWith = (
  db: TenantDb,
  lineId: string,
  people: readonly string[],
): Promise<GroupRow | null> =>
  db.maybeOne(sql.type(GroupRow)`
    select ${COLUMNS} from group_chats
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and ${hasExactly(people)}
    order by carrier_group_id is null, id desc limit 1`);

/**
 * A group of ours that the carrier may have created without having told us its id yet: of exactly the participants that it names, or, if it
 * names none, the newest which contains the writer and to which a message may have gone.
 */
export async function findGroupBeingCreated(
  db: TenantDb,
  lineId: string,
  { named, writer }: { named: readonly string[]; writer: string | null },
): Promise<GroupRow | null> {
  if (named.length === 0 && writer === null) return null;
  const people =
    named.length > 0
      ? hasExactly(writer === null ? named : [...new Set([...named, writer])])
      : sql.fragment`participants @> ${sql.array([writer ?? ''], 'text')} and exists (
          select from attempts a where a.workspace_id = ${db.workspaceId} and a.address = 'group:' || group_chats.id
            and (a.outcome is null or a.outcome in ('accepted', 'unknown')))`;
  return db.maybeOne(sql.type(GroupRow)`
    select ${COLUMNS} from group_chats
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_group_id is null and ${people}
    order by id desc limit 1 for no key update`);
}

/** Stores a group that the carrier may have told of at the same time. */
export const insertGroup = (
  db: TenantDb,
  { id, lineId, carrierGroupId, name, participants }: GroupRow,
): Promise<GroupRow> =>
  db.one(sql.type(GroupRow)`
    insert into group_chats (workspace_id, id, line_id, carrier_group_id, name, participants)
    values (${db.workspaceId}, ${id}, ${lineId}, ${carrierGroupId}, ${name}, ${sql.array(participants, 'text')})
    on conflict (workspace_id, line_id, carrier_group_id) do update set name = excluded.name, participants = excluded.participants
    returning ${COLUMNS}`);

/** Stores what has changed of a group. */
export const updateGroup = (
  db: TenantDb,
  { id, carrierGroupId, name, participants }: GroupRow,
): Promise<GroupRow> =>
  db.one(sql.type(GroupRow)`
    update group_chats set carrier_group_id = ${carrierGroupId}, name = ${name}, participants = ${sql.array(participants, 'text')}
    where workspace_id = ${db.workspaceId} and id = ${id}
    returning ${COLUMNS}`);

/**
 * Stores the id by which a carrier knows a group of ours. If that of another conversation turns out to be the same, what is written to the
 * group belongs to this one from now on.
 */
export async function recordCarrierGroup(
  db: TenantDb,
  address: string,
  carrierGroupId: string,
): Promise<void> {
  const id = groupIdOf(address);
  const group = await db.maybeOne(sql.type(GroupRow)`
    select ${COLUMNS} from group_chats where workspace_id = ${db.workspaceId} and id = ${id} for no key update`);
  if (!group || group.carrierGroupId === carrierGroupId) return;
  const other = await findGroupOf(db, group.lineId, carrierGroupId);
  const participants = [...new Set([...group.participants, ...(other?.participants ?? [])])];
  if (other) await updateGroup(db, { ...other, carrierGroupId: null, participants });
  await updateGroup(db, { ...group, carrierGroupId, name: group.name ?? other?.name ?? null, participants });
}

/** The addresses of the groups that contain a contact. */
export async function groupsOf(db: TenantDb, participant: string): Promise<string[]> {
  const ids = await db.anyFirst(sql.type(IdRow)`
    select id from group_chats
    where workspace_id = ${db.workspaceId} and participants @> ${sql.array([participant], 'text')}`);
  return ids.map(groupAddress);
}

/** Locks the conversations with the participants of a group, before that of the group, so that none of them opts out meanwhile. */
export async function lockParticipants(db: TenantDb, participants: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    select from conversations
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...participants], 'text')})
    order by address for no key update`);
}

/** Locks what a line may have of a group with exactly these participants, so that it is created once. */
export async function lockPeople(db: TenantDb, lineId: string, people: readonly string[]): Promise<void> {
  const name = `group of ${lineId} with ${people.toSorted().join(' ')}`;
  await db.query(sql.type(NoRows)`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`);
}

/** Names an erased contact no more, nor shows what they reacted with. The name of a group may name its participants. */
export async function forgetParticipant(db: TenantDb, addresses: readonly string[]): Promise<void> {
  const erased = sql.array([...addresses], 'text');
  const groups = sql.fragment`(
    select 'group:' || id from group_chats where workspace_id = ${db.workspaceId} and participants && ${erased})`;
  const others = sql.fragment`(
    select coalesce(jsonb_agg(r order by n), '[]') from jsonb_array_elements(reactions) with ordinality as e (r, n)
    where r ->> 'from' <> all(${erased}))`;
  await db.query(sql.type(NoRows)`
    update messages set reactions = ${others}
    where workspace_id = ${db.workspaceId} and address in ${groups} and reactions <> '[]'`);
  await db.query(sql.type(NoRows)`
    update inbound_messages set reactions = ${others}
    where workspace_id = ${db.workspaceId} and address in ${groups} and reactions <> '[]'`);
  await db.query(sql.type(NoRows)`
    update group_chats set name = null, participants = array(
      select p from unnest(participants) with ordinality as p (p, n) where p <> all(${erased}) order by n)
    where workspace_id = ${db.workspaceId} and participants && ${erased}`);
}
