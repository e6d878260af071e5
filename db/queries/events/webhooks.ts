import { containsText } from '../base/search.ts';
import { NoRows } from '#db/connection/rows.ts';
import { sql } from 'slonik';
import { z } from 'zod';
import { EventPattern } from '#domain/events/event.ts';
import {
  Retries,
  ROTATION_HOURS,
  type Webhook,
  WebhookFilters,
  type WebhookPatch,
} from '#domain/events/webhook.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';

export const WebhookRow = z.object({
  id: z.string(),
  workspaceId: z.string(),
  name: z.string(),
  url: z.string(),
  events: z.array(EventPattern),
  ...WebhookFilters.shape,
  retries: Retries,
  isActive: z.boolean(),
  /** False: the key that made it has ended. */
  keyLives: z.boolean(),
  madeByKeyId: z.string().nullable(),
  secretSealed: z.string(),
  previousSecretSealed: z.string().nullable(),
  previousSecretUntil: z.date().nullable(),
  failureCount: z.int(),
  lastSuccessAt: z.date().nullable(),
  lastFailureAt: z.date().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
});
export type WebhookRow = z.infer<typeof WebhookRow>;

/** A webhook that a limited key made ends with the key, because it hands over what the key could read. */
const KEY_LIVES = sql.fragment`((h.ends_at is null or h.ends_at > now()) and (h.made_by_key_id is null or exists (
  select from workspace_keys k
  where k.workspace_id = h.workspace_id and k.id = h.made_by_key_id and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > now()))))`;

/** A webhook `h` gets events, and what is pending for it. */
export const DELIVERS = sql.fragment`h.is_active and ${KEY_LIVES}`;

const CountRow = z.object({ count: z.int() });

/** Without repetitions. */
const texts = (some: readonly string[]) => sql.array([...new Set(some)], 'text');

const COLUMNS = sql.fragment`h.*, ${KEY_LIVES} key_lives`;

/** The webhooks of some workspaces, newest first. */
export async function listWebhooksOf(db: SystemDb, workspaceIds: readonly string[]): Promise<WebhookRow[]> {
  const rows = await db.any(sql.type(WebhookRow)`
    select ${COLUMNS} from webhooks h where workspace_id = any(${sql.array([...workspaceIds], 'text')})
    order by id desc`);
  return [...rows];
}

/** Newest first; returns `limit + 1` rows if there are more. */
export async function pageOfWebhooks(
  db: TenantDb,
  { limit, cursor, search }: { limit: number; cursor?: string | undefined; search?: string | undefined },
): Promise<WebhookRow[]> {
  const rows = await db.any(sql.type(WebhookRow)`
    select ${COLUMNS} from webhooks h where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId}`,
      cursor !== undefined && sql.fragment`id < ${cursor}`,
      search !== undefined && containsText(sql.fragment`name`, search),
    ])}
    order by id desc limit ${limit + 1}`);
  return [...rows];
}

export async function findWebhook(db: TenantDb, id: string): Promise<WebhookRow | null> {
  return db.maybeOne(sql.type(WebhookRow)`
    select ${COLUMNS} from webhooks h where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** The end of a webhook that a limited key makes. */
export interface WebhookEnd {
  /** The key of the workspace or its agency, whatever its limits, that registers it; null: a person does. */
  registeredByKeyId?: string | null;
  /** The workspace's key with which it ends. */
  madeByKeyId?: string | null;
  /** When the agency's key that makes it expires. */
  endsAt?: Date | null;
}

export interface NewWebhook
  extends
    Pick<WebhookRow, 'name' | 'url' | 'events'>,
    Partial<Pick<WebhookRow, 'retries' | 'isActive' | keyof WebhookFilters>>,
    WebhookEnd {}

/** Inserts the same webhook for one or more workspaces. @returns them by workspace. */
export async function insertWebhooks(
  db: TenantDb | SystemDb,
  {
    name,
    url,
    events,
    retries = 'none',
    lineIds = [],
    campaignIds = [],
    tags = [],
    isActive = true,
    madeByKeyId = null,
    endsAt = null,
    registeredByKeyId = null,
  }: NewWebhook,
  webhooks: readonly Pick<WebhookRow, 'workspaceId' | 'id' | 'secretSealed'>[],
): Promise<WebhookRow[]> {
  const rows = webhooks.map(({ workspaceId, id, secretSealed }) => [workspaceId, id, secretSealed]);
  const inserted = await db.any(sql.type(WebhookRow)`
    insert into webhooks as h (workspace_id, id, name, url, events, retries, line_ids, campaign_ids, tags, is_active, secret_sealed,
      made_by_key_id, ends_at, registered_by_key_id)
    select workspace_id, id, ${name}, ${url}, ${texts(events)}, ${retries}, ${texts(lineIds)}, ${texts(campaignIds)}, ${texts(tags)},
      ${isActive}::boolean, secret_sealed, ${madeByKeyId}, ${endsAt && sql.timestamp(endsAt)}::timestamptz, ${registeredByKeyId}
    from ${sql.unnest(rows, ['text', 'text', 'text'])} as t (workspace_id, id, secret_sealed)
    returning ${COLUMNS}`);
  return inserted.toSorted((a, b) => (a.workspaceId < b.workspaceId ? -1 : 1));
}

/**
 * @param by.keyId the key that changes it; null: a person does.
 * @param by.keeps whether whoever activates the webhook may keep it after the key that made it.
 * @returns null if there is no such webhook.
 */
export async function updateWebhook(
  db: TenantDb,
  id: string,
  patch: WebhookPatch,
  { keyId, keeps }: { keyId: string | null; keeps: boolean },
): Promise<WebhookRow | null> {
  const { name = null, url = null, retries = null, isActive = null } = patch;
  const { events, lineIds, campaignIds, tags } = patch;
  const takesOver = url !== null || (isActive && keeps);
  const list = (some: readonly string[] | undefined, column: ReturnType<typeof sql.fragment>) =>
    some ? sql.fragment`${column} = ${texts(some)},` : sql.fragment``;
  return db.maybeOne(sql.type(WebhookRow)`
    update webhooks h set name = coalesce(${name}::text, name), url = coalesce(${url}::text, url),
      retries = coalesce(${retries}::text, retries),
      ${list(events, sql.fragment`events`)} ${list(lineIds, sql.fragment`line_ids`)}
      ${list(campaignIds, sql.fragment`campaign_ids`)} ${list(tags, sql.fragment`tags`)}
      is_active = coalesce(${isActive}::boolean, is_active), updated_at = now()
      ${isActive && keeps ? sql.fragment`, made_by_key_id = null, ends_at = null` : sql.fragment``}
      ${takesOver ? sql.fragment`, registered_by_key_id = ${keyId}` : sql.fragment``}
    where workspace_id = ${db.workspaceId} and id = ${id}
    returning ${COLUMNS}`);
}

/** Sets a new secret. The previous one keeps signing for `ROTATION_HOURS`; an older one stops. */
export async function rotateSecret(
  db: TenantDb,
  id: string,
  secretSealed: string,
): Promise<WebhookRow | null> {
  return db.maybeOne(sql.type(WebhookRow)`
    update webhooks h set secret_sealed = ${secretSealed}, previous_secret_sealed = secret_sealed,
      previous_secret_until = now() + make_interval(hours => ${ROTATION_HOURS}), updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id}
    returning ${COLUMNS}`);
}

/** The webhooks of a rolled key are those of the key that replaces it. */
export async function passWebhooksOn(
  db: TenantDb,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update webhooks set made_by_key_id = case when made_by_key_id = ${from} then ${to} else made_by_key_id end, registered_by_key_id = ${to}
    where workspace_id = ${db.workspaceId} and registered_by_key_id = ${from}`);
}

/** The webhooks that keys registered, and that deliver. */
const deliveringFor = (of: KeysOf) =>
  'agencyId' in of
    ? sql.fragment`h.workspace_id in (select id from workspaces where agency_id = ${of.agencyId}) and ${DELIVERS}
        and h.registered_by_key_id = any(${texts(of.keyIds)})`
    : sql.fragment`h.workspace_id = ${of.db.workspaceId} and ${DELIVERS}
        and h.registered_by_key_id = any(${texts(of.keyIds)})`;

/** Keys of a workspace, or of an agency and its workspaces. */
type KeysOf = { keyIds: readonly string[] } & ({ db: TenantDb } | { db: SystemDb; agencyId: string });

/** @returns how many webhooks that keys registered deliver. */
export const countWebhooksOfKeys = (of: KeysOf): Promise<number> =>
  of.db.oneFirst(sql.type(CountRow)`select count(*)::int count from webhooks h where ${deliveringFor(of)}`);

/** Deactivates the webhooks that keys registered. Whoever activates one again keeps it. */
export async function endWebhooksOfKeys(of: KeysOf): Promise<void> {
  await of.db.query(sql.type(NoRows)`
    update webhooks h set is_active = false, updated_at = now() where ${deliveringFor(of)}`);
}

/** Stops all deliveries. Their log is no longer accessible and is deleted by retention. */
export async function deleteWebhook(db: TenantDb, id: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from webhooks where workspace_id = ${db.workspaceId} and id = ${id}`);
  return rowCount > 0;
}

/** The URL without its path and query, which may be secret. */
const hostOf = (url: string): string => `${new URL(url).origin}/…`;

/** @param sees whether the reader may see the whole URL, which often contains a token. */
export function presentWebhook(row: WebhookRow, sees: 'url' | 'host' = 'url'): Webhook {
  return {
    _id: row.id,
    workspaceId: row.workspaceId,
    name: row.name,
    url: sees === 'url' ? row.url : hostOf(row.url),
    events: row.events,
    lineIds: row.lineIds,
    campaignIds: row.campaignIds,
    tags: row.tags,
    retries: row.retries,
    isActive: row.isActive && row.keyLives,
    failureCount: row.failureCount,
    lastSuccessAt: row.lastSuccessAt?.toISOString() ?? null,
    lastFailureAt: row.lastFailureAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
