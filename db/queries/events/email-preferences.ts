import { sql } from 'slonik';
import { z } from 'zod';
import {
  DEFAULT_EMAIL_PREFERENCES,
  type EmailPreferences,
  EmailPreferencesPatch,
  mergeEmailPreferences,
} from '#domain/events/email-preferences.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, SystemTransaction, TenantDb } from '#db/connection/transactions.ts';

const Row = z.object({ preferences: EmailPreferencesPatch });
const RowOfWorkspace = Row.extend({ workspaceId: z.string() });

export async function findEmailPreferences(db: TenantDb): Promise<EmailPreferences> {
  const row = await db.maybeOne(sql.type(Row)`
    select preferences from email_preferences where workspace_id = ${db.workspaceId}`);
  return mergeEmailPreferences(DEFAULT_EMAIL_PREFERENCES, row?.preferences ?? {});
}

/** The preferences of some workspaces, in their order. */
export async function listEmailPreferences(
  db: SystemDb,
  workspaceIds: readonly string[],
): Promise<EmailPreferences[]> {
  const rows = await db.any(sql.type(RowOfWorkspace)`
    select workspace_id, preferences from email_preferences
    where workspace_id = any(${sql.array([...workspaceIds], 'text')})`);
  const changed = new Map(rows.map(({ workspaceId, preferences }) => [workspaceId, preferences]));
  return workspaceIds.map((id) => mergeEmailPreferences(DEFAULT_EMAIL_PREFERENCES, changed.get(id) ?? {}));
}

/** Like `changeEmailPreferences`, for some workspaces. @returns the merged preferences, in their order. */
export async function changeEmailPreferencesOf(
  db: SystemTransaction,
  workspaceIds: readonly string[],
  patch: EmailPreferencesPatch,
): Promise<EmailPreferences[]> {
  const ids = workspaceIds.toSorted();
  // Locked in this order, so that the second of two concurrent changes sees the first.
  await db.query(sql.type(NoRows)`
    insert into email_preferences (workspace_id) select unnest(${sql.array(ids, 'text')})
    on conflict (workspace_id) do update set updated_at = excluded.updated_at`);
  const current = await listEmailPreferences(db, workspaceIds);
  const merged = current.map((preferences) => mergeEmailPreferences(preferences, patch));
  const rows = workspaceIds.map((id, index) => [id, JSON.stringify(merged[index])]);
  await db.query(sql.type(NoRows)`
    update email_preferences e set preferences = t.preferences
    from ${sql.unnest(rows, ['text', 'jsonb'])} as t (id, preferences) where e.workspace_id = t.id`);
  return merged;
}

/** Merges the given fields; concurrent changes do not overwrite each other. @returns the merged preferences. */
export async function changeEmailPreferences(
  db: TenantDb,
  patch: EmailPreferencesPatch,
): Promise<EmailPreferences> {
  await db.query(sql.type(NoRows)`
    insert into email_preferences (workspace_id) values (${db.workspaceId})
    on conflict (workspace_id) do update set updated_at = excluded.updated_at`);
  const preferences = mergeEmailPreferences(await findEmailPreferences(db), patch);
  await db.query(sql.type(NoRows)`
    update email_preferences set preferences = ${sql.jsonb(preferences)} where workspace_id = ${db.workspaceId}`);
  return preferences;
}
