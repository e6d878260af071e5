import { sql } from 'slonik';
import { z } from 'zod';
import { SUSPENDED } from '#domain/billing/entitlement.ts';
import { workspaceStop } from '#domain/sending/why-it-waits.ts';
import {
  CampaignQuietHours,
  NO_QUIET_HOURS,
  QuietHours,
  type QuietPolicy,
} from '#domain/sending/quiet-hours.ts';
import { FrequencyCap, type PersonRules } from '#domain/sending/person-holds.ts';
import { ALWAYS_OPEN, OpeningHours } from '#domain/inbox/opening-hours.ts';
import { ReputationPolicy } from '#domain/lines/reputation.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';

const TimezoneRow = z.object({ timezone: z.string() });

export async function workspaceTimezone(db: TenantDb): Promise<string> {
  return db.oneFirst(sql.type(TimezoneRow)`
    select timezone from workspaces where id = ${db.workspaceId}`);
}

/** Whether a workspace may send nothing until it is paid. */
export const IS_UNPAID = sql.fragment`(
  subscription_status = any(${sql.array([...SUSPENDED], 'text')}) and current_billing_mode() <> 'none')`;

const SendingRow = z.object({
  timezone: z.string(),
  pastDue: z.boolean(),
  suspended: z.boolean(),
  reputationPolicy: ReputationPolicy,
  quietHours: QuietHours.nullable(),
  campaigns: z.record(z.string(), CampaignQuietHours).nullable(),
  frequencyCap: FrequencyCap.nullable(),
  contactBusy: z.boolean(),
});

/** What the pacing rules need to know about the workspace. */
export interface WorkspacePace {
  timezone: string;
  pastDue: boolean;
  suspended: boolean;
  quiet: QuietPolicy;
  persons: PersonRules;
  reputationPolicy: ReputationPolicy;
}

export async function workspacePace(db: TenantDb): Promise<WorkspacePace> {
  const { quietHours, campaigns, frequencyCap, contactBusy, ...pace } = await db.one(sql.type(SendingRow)`
    select timezone, ${IS_UNPAID} past_due, suspended_at is not null suspended, reputation_policy, quiet_hours, frequency_cap, contact_busy, (
      select jsonb_object_agg(c.id, c.quiet_hours) from campaigns c
      where c.workspace_id = ${db.workspaceId} and c.quiet_hours is not null
    ) campaigns
    from workspaces where id = ${db.workspaceId}`);
  const quiet = {
    workspace: quietHours ?? NO_QUIET_HOURS,
    campaigns: new Map(Object.entries(campaigns ?? {})),
  };
  return { ...pace, quiet, persons: { frequencyCap, contactBusy } };
}

/** Replaces the quiet hours of the workspace. */
export async function setQuietHours(db: TenantDb, quietHours: QuietHours): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workspaces set quiet_hours = ${sql.jsonb(quietHours)} where id = ${db.workspaceId}`);
}

const HoursRow = z.object({ openingHours: OpeningHours.nullable() });

export async function findOpeningHours(db: TenantDb): Promise<OpeningHours> {
  const hours = await db.oneFirst(sql.type(HoursRow)`
    select opening_hours from workspaces where id = ${db.workspaceId}`);
  return hours ?? ALWAYS_OPEN;
}

export async function setOpeningHours(db: TenantDb, hours: OpeningHours): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workspaces set opening_hours = ${sql.jsonb(hours)} where id = ${db.workspaceId}`);
}

const StopRow = z.object({ pastDue: z.boolean(), suspended: z.boolean() });

/** Why nothing of the workspace is sent; null if it may send. */
export async function findWorkspaceStop(db: TenantDb): Promise<ReturnType<typeof workspaceStop>> {
  const row = await db.one(sql.type(StopRow)`
    select ${IS_UNPAID} past_due, suspended_at is not null suspended from workspaces where id = ${db.workspaceId}`);
  return workspaceStop(row);
}

const PolicyRow = z.object({ reputationPolicy: ReputationPolicy });

/** The reputation policy of lines without their own policy. */
export async function workspaceReputationPolicy(db: TenantDb): Promise<ReputationPolicy> {
  return db.oneFirst(sql.type(PolicyRow)`
    select reputation_policy from workspaces where id = ${db.workspaceId}`);
}

export async function setReputationPolicy(db: TenantDb, policy: ReputationPolicy): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workspaces set reputation_policy = ${policy} where id = ${db.workspaceId}`);
}

const WorkspaceNameRow = z.object({ name: z.string(), timezone: z.string() });

/** The workspace's data in emails. */
export async function workspaceProfile(db: TenantDb): Promise<{ name: string; timezone: string }> {
  return db.one(sql.type(WorkspaceNameRow)`
    select name, timezone from workspaces where id = ${db.workspaceId}`);
}

/** Changes what is given. */
export async function setWorkspaceProfile(
  db: TenantDb,
  { name, timezone }: { name?: string | undefined; timezone?: string | undefined },
): Promise<void> {
  if (name === undefined && timezone === undefined) return;
  await db.query(sql.type(NoRows)`
    update workspaces set name = coalesce(${name ?? null}, name), timezone = coalesce(${timezone ?? null}, timezone)
    where id = ${db.workspaceId}`);
}

const CountryRow = z.object({ country: z.string() });

/** ISO 3166-1 alpha-2, assumed for phone numbers without a country code. */
export async function workspaceCountry(db: TenantDb): Promise<string> {
  return db.oneFirst(sql.type(CountryRow)`
    select country from workspaces where id = ${db.workspaceId}`);
}

const LineLocationRow = z.object({ workspaceId: z.string(), carrier: z.string() });

/**
 * The current workspace of a line, which can be transferred while its pacer keeps its workflow id. Read at one moment: between two,
 * the line could move away and back.
 */
export async function findLineOwner(
  db: SystemDb,
  lineId: string,
): Promise<{ workspaceId: string; carrier: string } | null> {
  return db.maybeOne(sql.type(LineLocationRow)`
    select workspace_id, carrier from line_home(${lineId})`);
}
