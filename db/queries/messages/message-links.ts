import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';

/** A link of a message, see `db/migrations/0505_message_links.sql`. */
const MessageLinkRow = z.object({
  token: z.string(),
  messageId: z.string(),
  url: z.string(),
  clickedAt: z.date().nullable(),
  clicks: z.int(),
});
type MessageLinkRow = z.infer<typeof MessageLinkRow>;

const COLUMNS = sql.fragment`token, message_id, url, clicked_at, clicks`;

export const findLink = (db: TenantDb, token: string): Promise<MessageLinkRow | null> =>
  db.maybeOne(sql.type(MessageLinkRow)`
    select ${COLUMNS} from message_links where workspace_id = ${db.workspaceId} and token = ${token}`);

export const linksOf = (db: TenantDb, messageIds: readonly string[]): Promise<readonly MessageLinkRow[]> =>
  db.any(sql.type(MessageLinkRow)`
    select ${COLUMNS} from message_links
    where workspace_id = ${db.workspaceId} and message_id = any(${sql.array([...messageIds], 'text')})
    order by message_id, clicked_at, url`);

/** Whether a link of a message `m` was opened. */
export const IS_CLICKED = sql.fragment`exists (
  select from message_links k where k.workspace_id = m.workspace_id and k.message_id = m.id and k.clicked_at is not null)`;

/** Whether a message `m` has links of ours. */
export const HAS_LINKS = sql.fragment`exists (
  select from message_links k where k.workspace_id = m.workspace_id and k.message_id = m.id)`;
