import { sql } from 'slonik';
import { z } from 'zod';
import { FallbackConfig } from '#domain/messages/fallback-config.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

export const FallbackRow = FallbackConfig.extend({
  authTokenSealed: z.string().nullable(),
  sharedKeySealed: z.string().nullable(),
  updatedAt: z.date(),
});
export type FallbackRow = z.infer<typeof FallbackRow>;

type PresentedConfig = FallbackConfig & { hasAuthToken: boolean };

const present = ({
  authTokenSealed,
  sharedKeySealed: _sharedKeySealed,
  updatedAt: _updatedAt,
  ...config
}: FallbackRow): PresentedConfig => ({
  ...config,
  hasAuthToken: authTokenSealed !== null,
});

/** Includes the encrypted token, for sending. */
export async function findFallbackAccount(db: TenantDb): Promise<FallbackRow | null> {
  return db.maybeOne(
    sql.type(FallbackRow)`select * from fallback_configs where workspace_id = ${db.workspaceId}`,
  );
}

export async function findFallbackConfig(db: TenantDb): Promise<PresentedConfig | null> {
  const row = await findFallbackAccount(db);
  return row && present(row);
}

/** Serializes changes of the configuration. Locks the workspace, because the first change has no other row to lock. */
export async function lockFallbackConfig(db: TenantDb): Promise<void> {
  await db.query(sql.type(NoRows)`select from workspaces where id = ${db.workspaceId} for no key update`);
}

/** Replaces the configuration; keeps the secrets that are not given. A shared key of null is removed. Requires `lockFallbackConfig`. */
export async function saveFallbackConfig(
  db: TenantDb,
  config: Omit<FallbackRow, 'authTokenSealed' | 'sharedKeySealed' | 'updatedAt'> & {
    authTokenSealed?: string;
    sharedKeySealed?: string | null;
  },
): Promise<PresentedConfig> {
  const row = await db.one(sql.type(FallbackRow)`
    insert into fallback_configs (workspace_id, enabled, provider, account_sid, auth_token_sealed, shared_key_sealed, from_number,
      messaging_service_sid, default_message)
    values (${db.workspaceId}, ${config.enabled}, ${config.provider}, ${config.accountSid},
      ${config.authTokenSealed ?? null}, ${config.sharedKeySealed ?? null}, ${config.fromNumber}, ${config.messagingServiceSid}, ${config.defaultMessage})
    on conflict (workspace_id) do update set enabled = excluded.enabled, provider = excluded.provider,
      account_sid = excluded.account_sid, from_number = excluded.from_number,
      auth_token_sealed = coalesce(excluded.auth_token_sealed, fallback_configs.auth_token_sealed),
      shared_key_sealed = case when ${config.sharedKeySealed === undefined} then fallback_configs.shared_key_sealed
        else excluded.shared_key_sealed end,
      messaging_service_sid = excluded.messaging_service_sid, default_message = excluded.default_message, updated_at = clock_timestamp()
    returning *`);
  return present(row);
}
