import { currentTime } from '#domain/base/clock.ts';
import { pauseOrResume } from '#db/commands/lines/line-pause.ts';
import { cancelWaitingMessage, sendMessageNow } from '#db/commands/sending/message-orders.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { targetsOfUpdate } from '#db/queries/accounts/audit-log.ts';
import { nextInTurn } from '#db/queries/sending/line-orders.ts';
import { type LineRow, lockLine } from '#db/queries/lines/lines.ts';
import { findMessage, findMessages, type MessageRow, presentMessage } from '#db/queries/messages/messages.ts';
import { byOperator } from '#domain/accounts/audit.ts';
import { Refusal } from '#domain/base/refusal.ts';
import type { LineVerdict, MessageOrder, MessageVerdict, Order } from '#workflows/protocol/updates.ts';
import type { Dependencies } from '../dependencies.ts';
import { findLocation } from './line-location.ts';
import { carryOut, record, refusal } from '../base/order.ts';

type OfLine<O extends Order> = O & { workspaceId: string; lineId: string };

/** What operators ask of a line: each is one transaction under the line's lock, with its entry in the audit log. */
export function createLineOrderActivities({ pools }: Pick<Dependencies, 'pools'>) {
  /** In the workspace that the line is in now. */
  async function command<T>(
    order: OfLine<Order>,
    work: (db: TenantDb, line: LineRow, now: Date) => Promise<T>,
  ): Promise<T> {
    const { lineId } = order;
    const home = await findLocation(pools, lineId);
    if (!home) throw refusal('NOT_FOUND', 'The line was deleted');
    return carryOut(pools, home.workspaceId, order, async (db) => {
      const line = await lockLine(db, lineId);
      if (!line) throw new Refusal('NOT_FOUND', null, 'The line has just left its workspace; try again');
      return work(db, line, currentTime());
    });
  }

  async function setLinePaused(order: OfLine<Order>, isPaused: boolean): Promise<LineVerdict> {
    return command(order, async (db, line, now) => {
      await pauseOrResume(db, line, isPaused, byOperator(order), now);
      return { lineId: line.id, isPaused };
    });
  }

  return {
    /** The line sends nothing until it is resumed; its messages keep their places. */
    pauseLine: (order: OfLine<Order>): Promise<LineVerdict> => setLinePaused(order, true),

    resumeLine: (order: OfLine<Order>): Promise<LineVerdict> => setLinePaused(order, false),

    /**
     * Sends a message, or the next one, within moments, regardless of its scheduled time and of gaps, but never despite an
     * opt-out, a cap, a window, or on a line that cannot send. A retried order finds its own message, not the one after it.
     */
    async sendNow({
      updateId,
      ...order
    }: OfLine<Order & Partial<MessageOrder>> & { updateId?: string }): Promise<MessageVerdict> {
      return command(order, async (db, line, now) => {
        const messageId =
          order.messageId ??
          (await sentNowBy(db, line, updateId)) ??
          line.sendNow[0] ??
          (await nextInTurn(db, line.id, now));
        if (messageId === null) throw new Refusal('INVALID_STATE', null, 'Nothing waits for the line');
        const message = await messageOf(db, line, messageId);
        if (await sendMessageNow(db, line, message, now)) {
          // Its time is overwritten, so the timeline knows it from here.
          const changes = { plannedFor: message.scheduledAt.toISOString(), ...(updateId && { updateId }) };
          await record(db, order, 'message.sent_now', { type: 'message', id: messageId }, changes);
        }
        return { messageId, status: presentMessage(message).status };
      });
    },

    /** Cancels a message that waits for the line, as `POST /api/messages/{id}/cancel`. */
    async skipMessage(order: OfLine<MessageOrder>): Promise<MessageVerdict> {
      return command(order, async (db, line, now) => {
        const { id, status } = await messageOf(db, line, order.messageId);
        if (status !== 'canceled') {
          await cancelWaitingMessage(db, id, now);
          await record(db, order, 'message.skipped', { type: 'message', id });
        }
        return { messageId: id, status: 'canceled' };
      });
    },
  };
}

/** The message of the line that an update has sent already. @param updateId undefined: a workflow of an earlier release gives none. */
async function sentNowBy(db: TenantDb, line: LineRow, updateId: string | undefined): Promise<string | null> {
  if (!updateId) return null;
  const messages = await findMessages(db, await targetsOfUpdate(db, 'message.sent_now', updateId));
  return messages.find(({ lineId }) => lineId === line.id)?.id ?? null;
}

async function messageOf(db: TenantDb, line: LineRow, messageId: unknown): Promise<MessageRow> {
  if (typeof messageId !== 'string')
    throw new Refusal('VALIDATION_ERROR', 'messageId', 'must be the id of a message');
  const message = await findMessage(db, messageId);
  if (message?.lineId !== line.id)
    throw new Refusal('NOT_FOUND', 'messageId', 'the line has no such message');
  return message;
}
