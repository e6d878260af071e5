import { sql } from 'slonik';
import { followMessageChanges } from '#db/commands/campaigns/lead-changes.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { findLink, linksOf } from '#db/queries/messages/message-links.ts';
import { isLonger } from '#domain/base/text.ts';
import { MAX_BODY_LENGTH } from '#domain/messages/message.ts';
import { linkTargets, newLinkToken, withTokens } from '#domain/messages/message-link.ts';

/** Of campaigns: a condition asks whether links are opened. */
const ASKS_ABOUT_CLICKS = sql.fragment`(
  jsonb_path_exists(steps, '$.**.field ? (@ == "clicked")') or jsonb_path_exists(stop_when, '$.**.field ? (@ == "clicked")'))`;

/** The text of a message as its contact gets it: with the links of ours that it has got. */
export async function withOwnLinks(
  db: TenantDb,
  messageId: string,
  text: string,
  publicUrl: string,
): Promise<string> {
  if (linkTargets(text, publicUrl).length === 0) return text;
  const links = await linksOf(db, [messageId]);
  const replaced = withTokens(text, publicUrl, new Map(links.map(({ url, token }) => [url, token])));
  return isLonger(replaced, MAX_BODY_LENGTH) ? text : replaced;
}

/** Like `withOwnLinks`; before, a message of a campaign that asks about clicks gets a link of ours in place of each. */
export async function trackLinks(
  db: TenantDb,
  { id, campaignId }: { id: string; campaignId: string | null },
  text: string,
  publicUrl: string,
): Promise<string> {
  const targets = campaignId === null ? [] : linkTargets(text, publicUrl);
  if (targets.length === 0) return text;
  const rows = targets.map((url) => [newLinkToken(db.workspaceId), url]);
  await db.query(sql.type(NoRows)`
    insert into message_links (workspace_id, token, message_id, url)
    select ${db.workspaceId}, n.token, ${id}, n.url from ${sql.unnest(rows, ['text', 'text'])} as n (token, url)
    where exists (
      select from campaigns where workspace_id = ${db.workspaceId} and id = ${campaignId} and ${ASKS_ABOUT_CLICKS})
    on conflict do nothing`);
  return withOwnLinks(db, id, text, publicUrl);
}

/** Counts that a person has opened a link. The first time, campaigns look again at the lead. */
export async function recordClick(db: TenantDb, token: string, now: Date): Promise<void> {
  const link = await findLink(db, token);
  if (link?.clickedAt === null) await followMessageChanges(db, [link.messageId], now);
  await db.query(sql.type(NoRows)`
    update message_links set clicks = clicks + 1, clicked_at = coalesce(clicked_at, ${sql.timestamp(now)})
    where workspace_id = ${db.workspaceId} and token = ${token}`);
}
