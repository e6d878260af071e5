import { sql } from 'slonik';
import { z } from 'zod';
import {
  DEFAULT_EMAIL_PREFERENCES,
  type EmailPreferences,
  EmailPreferencesPatch,
  mergeEmailPreferences,
} from '#domain/email-preferences.ts';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';

const Row = z.object({ preferences: EmailPreferencesPatch });

export async function findEmailPreferences(db: TenantDb): Promise<EmailPreferences> {
  const row = await db.maybeOne(sql.type(Row)`
    select preferences from email_preferences where workspace_id = ${db.workspaceId}`);
  return mergeEmailPreferences(DEFAULT_EMAIL_PREFERENCES, row?.preferences ?? {});
}

/** Merges the given fields; concurrent changes do not overwrite each other. @returns the merged preferences. */
export async function changeEmailPreferences(
  db: TenantDb,
  patch: EmailPreferencesPatch,
): Promise<EmailPreferences> {
  await db.query(sql.type(NoRows)`
    insert into email_preferences (workspace_id) values (${db.workspaceId})
    on conflict (workspace_id) do update set updated_at = now()`);
  const preferences = mergeEmailPreferences(await findEmailPreferences(db), patch);
  await db.query(sql.type(NoRows)`
    update email_preferences set preferences = ${sql.jsonb(preferences)} where workspace_id = ${db.workspaceId}`);
  return preferences;
}
