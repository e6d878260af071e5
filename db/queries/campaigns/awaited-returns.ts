import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';

const AwaitedReturnRow = z.object({
  replyId: z.string(),
  address: z.string(),
  /** With its subject. */
  text: z.string(),
  receivedAt: z.date(),
  /** Of the workspace. */
  timezone: z.string(),
});
/** An automatic reply in which the model is to find when its contact is back. */
export type AwaitedReturn = z.infer<typeof AwaitedReturnRow>;

/** Oldest first. */
export async function awaitedReturns(db: TenantDb, limit: number): Promise<readonly AwaitedReturn[]> {
  return db.any(sql.type(AwaitedReturnRow)`
    select i.id reply_id, i.address, concat_ws(E'\n', i.subject, i.body) text, i.received_at, w.timezone
    from (
      select distinct return_reply_id from campaign_leads
      where workspace_id = ${db.workspaceId} and return_reply_id is not null
      order by return_reply_id limit ${limit}
    ) l
    join inbound_messages i on i.workspace_id = ${db.workspaceId} and i.id = l.return_reply_id
    join workspaces w on w.id = ${db.workspaceId}
    order by i.id`);
}
