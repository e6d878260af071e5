import { type FragmentSqlToken, sql } from 'slonik';
import type { AnalyticsFilter } from '#domain/analytics/analytics.ts';

/** Conditions on a message `m`. */
export const SENT = sql.fragment`m.status in ('sent', 'delivered')`;
export const FALLEN_BACK = sql.fragment`(m.status = 'fallback' or m.fallback_sms = 'dispatched')`;
/** All messages that any metric counts. Must match the predicate of the partial index `messages_counted`. */
export const COUNTED = sql.fragment`(m.status in ('sent', 'delivered', 'fallback', 'failed') or m.fallback_sms = 'dispatched')`;

/** Conditions on a message `m`. */
export function outboundFilter({ campaignId, lineId, userId, from, to }: AnalyticsFilter) {
  return [
    campaignId !== undefined && sql.fragment`m.campaign_id = ${campaignId}`,
    lineId !== undefined && sql.fragment`m.line_id = ${lineId}`,
    userId !== undefined && sql.fragment`m.created_by_user_id = ${userId}`,
    from !== undefined && sql.fragment`m.created_at >= ${sql.timestamp(from)}`,
    to !== undefined && sql.fragment`m.created_at < ${sql.timestamp(justAfter(to))}`,
  ];
}

/** Conditions on a reply `i`, which is attributed to the user who created the message that it answers. */
export function inboundFilter({ campaignId, lineId, userId, from, to }: AnalyticsFilter) {
  return [
    sql.fragment`i.counted`,
    campaignId !== undefined && sql.fragment`i.campaign_id = ${campaignId}`,
    lineId !== undefined && sql.fragment`i.line_id = ${lineId}`,
    userId !== undefined &&
      sql.fragment`exists (
        select from messages m
        where m.workspace_id = i.workspace_id and m.id = i.original_message_id and m.created_by_user_id = ${userId}
      )`,
    from !== undefined && sql.fragment`i.received_at >= ${sql.timestamp(from)}`,
    to !== undefined && sql.fragment`i.received_at < ${sql.timestamp(justAfter(to))}`,
  ];
}

/** A bound as PostgreSQL reads it, also in years that have more or fewer than four digits. */
export function boundOf(at: Date): string {
  const year = at.getUTCFullYear();
  if (year < 1) return '-infinity';
  return year > 9999 ? 'infinity' : at.toISOString();
}

/** The API truncates times to milliseconds; a message that it shows at `to` is included. */
export const justAfter = (to: Date): Date => new Date(to.getTime() + 1);

/** A contact, and a time. */
interface Of {
  workspaceId: string;
  /** The column that has the contact. */
  address: FragmentSqlToken;
  /** Its bounds are not used. */
  filter: AnalyticsFilter;
}

// `offset 0`, so that messages are found by their contact: PostgreSQL may underestimate how many recent ones match the time.

/** A query of the times `at` of messages that were sent to a contact. */
export const sentTo = ({ workspaceId, address, filter }: Of): FragmentSqlToken => sql.fragment`
  select m.created_at at from messages m
  where ${sql.and([sql.fragment`m.workspace_id = ${workspaceId} and m.address = ${address}`, SENT, ...outboundFilter(anyTime(filter))])}
  offset 0`;

/** A query of the times `at` of a contact's replies that are not automatic. */
export const repliesOf = ({ workspaceId, address, filter }: Of): FragmentSqlToken => sql.fragment`
  select i.received_at at from inbound_messages i
  where ${sql.and([
    sql.fragment`i.workspace_id = ${workspaceId} and i.address = ${address} and not i.auto_reply`,
    ...inboundFilter(anyTime(filter)),
  ])}
  offset 0`;

const anyTime = (filter: AnalyticsFilter): AnalyticsFilter => ({ ...filter, from: undefined, to: undefined });
