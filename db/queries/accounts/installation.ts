import { sql } from 'slonik';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, SystemTransaction } from '#db/connection/transactions.ts';

/** How long a code that sets up the installation is valid, in minutes. */
export const SETUP_CODE_MINUTES = 60;

/** Whether somebody owns a workspace or an agency of this installation. */
export async function hasOwner(db: SystemDb): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select from workspace_members where is_owner union all select from agency_members where role = 'owner' limit 1`);
}

/** Until the transaction ends, nobody else sets up the installation or creates tenants by name. */
export async function lockInstallation(db: SystemTransaction): Promise<void> {
  await db.query(sql.type(NoRows)`select pg_advisory_xact_lock(hashtextextended('installation', 0))`);
}

/** Stores a code that sets up the installation. It ends the one before. */
export async function replaceSetupCode(db: SystemDb, hash: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into setup_codes (hash, expires_at) values (${hash}, now() + make_interval(mins => ${SETUP_CODE_MINUTES}))
    on conflict (is_only) do update set hash = excluded.hash, expires_at = excluded.expires_at`);
}

/** Uses up the code. @returns false if it is not the current one, or has expired. */
export async function useSetupCode(db: SystemDb, hash: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from setup_codes where hash = ${hash} and expires_at > now()`);
  return rowCount > 0;
}
