import { sql } from 'slonik';
import { BUBBLE_GAP } from '#domain/messages/bubbles.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';

type Bubble = Pick<MessageRow, 'id' | 'bubbleOf' | 'bubble' | 'lineId'>;

/** Whether others may follow a message. The id of a message alone tells nothing. */
const follows = ({ id, bubbleOf, bubble }: Bubble) =>
  sql.fragment`bubble_of = ${bubbleOf ?? id} and bubble > ${bubble ?? 0} and held and status in ('pending', 'scheduled')`;

/**
 * Has the bubble after each of these messages, which were sent, follow shortly, by the same line.
 * @param bySms these were sent as fallback SMS, and so is what follows them.
 */
export async function releaseBubbles(
  db: TenantDb,
  sent: readonly MessageRow[],
  now: Date,
  { bySms = false } = {},
): Promise<void> {
  const way = bySms ? sql.fragment`force_fallback = true, held = false,` : sql.fragment``;
  for (const message of sent) {
    // What has bubbles is canceled by a reply, and so are they.
    if (!message.cancelIfReply) continue;
    const at = new Date(now.getTime() + BUBBLE_GAP.minMs + Math.random() * BUBBLE_GAP.spreadMs);
    const { rowCount } = await db.query(sql.type(NoRows)`
      update messages set ${way} hold_reason = null, scheduled_at = ${sql.timestamp(at)}, status = 'scheduled', line_id = ${message.lineId},
        updated_at = now()
      where workspace_id = ${db.workspaceId} and ${follows(message)} and bubble = ${(message.bubble ?? 0) + 1}`);
    if (rowCount > 0 && message.lineId !== null) wake(db, linePacerId(message.lineId), at, 'messagesDue');
  }
}

/** Cancels the bubbles after messages that will not be sent. @returns the canceled ones. */
export async function cancelBubbles(
  db: TenantDb,
  ended: readonly MessageRow[],
): Promise<readonly MessageRow[]> {
  const first = ended.filter(({ cancelIfReply }) => cancelIfReply);
  const canceled: MessageRow[] = [];
  for (const message of first)
    canceled.push(
      ...(await db.any(sql.type(MessageRow)`
        update messages set status = 'canceled', hold_reason = 'previous_step', held = false, updated_at = now()
        where workspace_id = ${db.workspaceId} and ${follows(message)}
        returning *`)),
    );
  return canceled;
}
