import { sql } from 'slonik';
import { z } from 'zod';
import { newWorkspaceId } from '#domain/base/ids.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

const WorkspaceRow = z.object({ id: z.string() });

/** The workspaces that the ids and names of organizations stand for, with the place of the first of them. */
const known = (names: readonly string[]) => sql.fragment`(
  select w.id, array_position(${sql.array([...names], 'text')}, w.id) place from workspaces w
  where w.id = any (${sql.array([...names], 'text')})
  union all
  select workspace_id, array_position(${sql.array([...names], 'text')}, name) from provider_organizations
  where name = any (${sql.array([...names], 'text')})
) known`;

/**
 * The workspace of the identity provider's organizations: one of which the user is a member, if there are several.
 * @returns null if none has a workspace.
 */
export async function workspaceOfOrganizations(
  db: SystemDb,
  names: readonly string[],
  userId: string,
): Promise<string | null> {
  return db.maybeOneFirst(sql.type(WorkspaceRow)`
    select known.id from ${known(names)}
    left join workspace_members m on m.workspace_id = known.id and m.user_id = ${userId}
    order by m.user_id is null, known.place limit 1`);
}

/** Whether one of the organizations is that of a workspace. */
export async function areOfWorkspace(
  db: SystemDb,
  names: readonly string[],
  workspaceId: string,
): Promise<boolean> {
  return db.exists(sql.type(NoRows)`select from ${known(names)} where known.id = ${workspaceId}`);
}

/**
 * Creates the workspace of an organization that has none. Simultaneous calls create one.
 * @param name its id or name at the provider.
 * @param title the name of the workspace.
 * @returns the workspace, and whether this call created it.
 */
export async function createWorkspaceOfOrganization(
  db: SystemDb,
  name: string,
  title: string,
): Promise<{ workspaceId: string; isNew: boolean }> {
  await db.query(sql.type(NoRows)`select pg_advisory_xact_lock(hashtextextended(${name}, 117))`);
  const found = await db.maybeOneFirst(sql.type(WorkspaceRow)`
    select workspace_id id from provider_organizations where name = ${name}`);
  if (found !== null) return { workspaceId: found, isNew: false };
  const workspaceId = newWorkspaceId();
  await db.query(sql.type(NoRows)`
    insert into workspaces (id, name, legal_name) values (${workspaceId}, ${title}, ${title})`);
  await linkOrganization(db, name, workspaceId);
  return { workspaceId, isNew: true };
}

/** Makes an organization that of a workspace, in place of the workspace that it had. @returns false if there is no such workspace. */
export async function linkOrganization(db: SystemDb, name: string, workspaceId: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into provider_organizations (name, workspace_id)
    select ${name}, id from workspaces where id = ${workspaceId} and live_workspace_id is null
    on conflict (name) do update set workspace_id = excluded.workspace_id`);
  return rowCount > 0;
}
