import { sql } from 'slonik';
import { z } from 'zod';
import type { SubAccountInput } from '#domain/agency.ts';
import type { BillingMode } from '#domain/entitlement.ts';
import { newAgencyId, newUserId, newWorkspaceId } from '#domain/ids.ts';
import { NoRows } from '#db/rows.ts';
import type { SystemDb } from '#db/transactions.ts';

export interface Person {
  email: string;
  /** '': none. */
  name: string;
}

const UserRow = z.object({ id: z.string(), name: z.string() });

/** The user with an email address, who is created if there is none. @returns also their name, or their address without one. */
export async function ensureUser(db: SystemDb, { email, name }: Person): Promise<z.infer<typeof UserRow>> {
  await db.query(sql.type(NoRows)`
    insert into users (id, email, name) values (${newUserId()}, ${email}, ${name}) on conflict do nothing`);
  return db.one(sql.type(UserRow)`
    select id, coalesce(nullif(name, ''), email) name from users where lower(email) = lower(${email})`);
}

/** @returns the id of the new agency. */
export async function insertAgency(
  db: SystemDb,
  { name, billingMode, ownerId }: { name: string; billingMode: BillingMode; ownerId: string },
): Promise<string> {
  const id = newAgencyId();
  await db.query(sql.type(NoRows)`
    insert into agencies (id, name, billing_mode) values (${id}, ${name}, ${billingMode})`);
  await db.query(sql.type(NoRows)`
    insert into agency_members (agency_id, user_id, role) values (${id}, ${ownerId}, 'owner')`);
  return id;
}

export interface NewWorkspace extends SubAccountInput {
  /** null: it has none, and its own billing mode counts. */
  agencyId: string | null;
  billingMode: Exclude<BillingMode, 'invoice'>;
  /** null: the first admin who signs in owns it. */
  ownerId: string | null;
}

/** @returns the id of the new workspace. */
export async function insertWorkspace(
  db: SystemDb,
  { name, legalName = name, timezone, country, agencyId, billingMode, ownerId }: NewWorkspace,
): Promise<string> {
  const id = newWorkspaceId();
  await db.query(sql.type(NoRows)`
    insert into workspaces (id, agency_id, name, legal_name, timezone, country, billing_mode, created_by_user_id)
    values (${id}, ${agencyId}, ${name}, ${legalName}, ${timezone}, ${country}, ${billingMode}, ${ownerId})`);
  if (ownerId !== null)
    await db.query(sql.type(NoRows)`
      insert into workspace_members (workspace_id, user_id, role, is_owner) values (${id}, ${ownerId}, 'org:admin', true)`);
  return id;
}
