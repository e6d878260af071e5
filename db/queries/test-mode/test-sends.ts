import { sql } from 'slonik';
import { z } from 'zod';
import { Channel } from '#domain/base/channel.ts';
import { currentTime } from '#domain/base/clock.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { Pools } from '#db/connection/pools.ts';
import { type SystemDb, systemDb, type TenantDb } from '#db/connection/transactions.ts';

/** A message that a line in test mode sends. */
interface TestSend {
  attemptId: string;
  lineId: string;
  messageId: string;
  channel: Channel;
  from: { address: string };
  to: { address: string };
  subject?: string;
  text: string;
  attachments: readonly { url: string }[];
}

/** @returns false if the line belongs to no workspace in test mode. */
async function keepTestSend(db: SystemDb, sent: TestSend): Promise<boolean> {
  const urls = sent.attachments.map(({ url }) => url);
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into test_sends (workspace_id, id, line_id, message_id, channel, sender, recipient, subject, body, attachment_urls, sent_at)
    select l.workspace_id, ${sent.attemptId}, l.id, ${sent.messageId}, ${sent.channel}, ${sent.from.address}, ${sent.to.address},
      ${sent.subject ?? null}, ${sent.text}, ${sql.array(urls, 'text')}, ${sql.timestamp(currentTime())}
    from lines l join workspaces w on w.id = l.workspace_id
    where l.id = ${sent.lineId} and w.live_workspace_id is not null
    on conflict (workspace_id, id) do update set sent_at = test_sends.sent_at`);
  return rowCount > 0;
}

async function isTestSend(db: SystemDb, attemptId: string): Promise<boolean> {
  return db.exists(sql.type(NoRows)`select 1 from test_sends where id = ${attemptId}`);
}

/** What the carrier of test mode keeps. */
export const testSends = (pools: Pools) => ({
  keep: (sent: TestSend) => keepTestSend(systemDb(pools), sent),
  has: (attemptId: string) => isTestSend(systemDb(pools), attemptId),
});

const SendRow = z.object({
  id: z.string(),
  lineId: z.string(),
  messageId: z.string(),
  channel: Channel,
  sender: z.string(),
  recipient: z.string(),
  subject: z.string().nullable(),
  body: z.string(),
  attachmentUrls: z.array(z.string()),
  sentAt: z.date(),
});
export type TestSendRow = z.infer<typeof SendRow>;

/** Newest first. */
export async function listTestSends(
  db: TenantDb,
  to: string | null,
  { limit, cursor }: { limit: number; cursor: string | null },
): Promise<readonly TestSendRow[]> {
  const conditions = [
    sql.fragment`workspace_id = ${db.workspaceId}`,
    ...(to === null ? [] : [sql.fragment`recipient = ${to}`]),
    ...(cursor === null ? [] : [sql.fragment`id < ${cursor}`]),
  ];
  return db.any(sql.type(SendRow)`
    select * from test_sends where ${sql.join(conditions, sql.fragment` and `)} order by id desc limit ${limit}`);
}

const AttemptRow = z.object({ lineId: z.string(), carrierMessageId: z.string() });

/** The last send of a message that its line has accepted; null if there is none. */
export async function lastTestAttempt(
  db: TenantDb,
  messageId: string,
): Promise<z.infer<typeof AttemptRow> | null> {
  return db.maybeOne(sql.type(AttemptRow)`
    select line_id, carrier_message_id from attempts
    where workspace_id = ${db.workspaceId} and message_id = ${messageId} and carrier_message_id is not null
    order by id desc limit 1`);
}
