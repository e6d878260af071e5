import { currentTime } from '#domain/base/clock.ts';
import { followCampaign } from '#db/commands/campaigns/campaign-steps.ts';
import { pauseOrResume } from '#db/commands/lines/line-pause.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { makeDue, nextInTurn, setSendNow } from '#db/queries/sending/line-orders.ts';
import { type LineRow, lockLine } from '#db/queries/lines/lines.ts';
import { lockSequences } from '#db/queries/sending/message-locks.ts';
import {
  cancelMessage,
  findMessage,
  type MessageRow,
  presentMessage,
} from '#db/queries/messages/messages.ts';
import { wake } from '#db/wakes/wakes.ts';
import { byOperator } from '#domain/accounts/audit.ts';
import { NO_CARRIER } from '#domain/lines/line.ts';
import type { StoredStatus } from '#domain/messages/message-status.ts';
import type { LineVerdict, MessageOrder, MessageVerdict, Order } from '#workflows/protocol/updates.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import type { Dependencies } from '../dependencies.ts';
import { findHome } from './line-home.ts';
import { record, refusal, requireStorable } from '../base/order.ts';
import { whyNotNow } from '#db/commands/sending/send-plan.ts';

type OfLine<O extends Order> = O & { workspaceId: string; lineId: string };

/** What operators ask of a line: each is one transaction under the line's lock, with its entry in the audit log. */
export function createLineOrderActivities({ pools }: Pick<Dependencies, 'pools'>) {
  /** In the workspace that the line is in now. */
  async function command<T>(
    order: OfLine<Order>,
    work: (db: TenantDb, line: LineRow, now: Date) => Promise<T>,
  ): Promise<T> {
    requireStorable(order);
    const { lineId } = order;
    const home = await findHome(pools, lineId);
    if (!home) throw refusal('NOT_FOUND', 'The line was deleted');
    return withTenant(pools, home.workspaceId, async (db) => {
      const line = await lockLine(db, lineId);
      if (!line) throw refusal('NOT_FOUND', 'The line has just left its workspace; try again');
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
     * opt-out, a cap, a window, or on a line that cannot send.
     */
    async sendNow(order: OfLine<Order & Partial<MessageOrder>>): Promise<MessageVerdict> {
      return command(order, async (db, line, now) => {
        const messageId = order.messageId ?? line.sendNow[0] ?? (await nextInTurn(db, line.id, now));
        if (messageId === null) throw refusal('INVALID_STATE', 'Nothing waits for the line');
        const message = await messageOf(db, line, messageId);
        const verdict = { messageId, status: presentMessage(message).status };
        if (line.sendNow.includes(messageId) || hasLeft(message)) return verdict;
        if (line.carrier === NO_CARRIER)
          throw refusal('INVALID_STATE', 'The line is not connected to a carrier');
        if (!isWaiting(message)) throw refusal('INVALID_STATE', `The message is ${verdict.status}`);
        if (!(await makeDue(db, messageId, now)))
          throw refusal('INVALID_STATE', 'The message waits for its campaign, or for the step before it');
        const wait = await whyNotNow(db, line, messageId, now);
        if (wait) throw refusal('INVALID_STATE', wait);
        await setSendNow(db, line.id, [...line.sendNow, messageId]);
        // Its time is overwritten, so the timeline knows it from here.
        const changes = { plannedFor: message.scheduledAt.toISOString() };
        await record(db, order, 'message.sent_now', { type: 'message', id: messageId }, changes);
        wake(db, linePacerId(line.id), now, 'messagesDue');
        return verdict;
      });
    },

    /** Cancels a message that waits for the line, as `POST /api/messages/{id}/cancel`. */
    async skipMessage(order: OfLine<MessageOrder>): Promise<MessageVerdict> {
      return command(order, async (db, line, now) => {
        const { id } = await messageOf(db, line, order.messageId);
        await lockSequences(db, [id]);
        const { message, canceled } = await cancelMessage(db, id);
        const status = message ? presentMessage(message).status : 'canceled';
        if (canceled) {
          await followCampaign(db, id, now);
          await record(db, order, 'message.skipped', { type: 'message', id });
        } else if (message?.status !== 'canceled') {
          throw refusal('INVALID_STATE', `The message is ${status}`);
        }
        return { messageId: id, status };
      });
    },
  };
}

const isWaiting = ({ status }: MessageRow): boolean => status === 'pending' || status === 'scheduled';
const LEFT: readonly StoredStatus[] = ['sending', 'sent', 'delivered'];
const hasLeft = ({ status }: MessageRow): boolean => LEFT.includes(status);

async function messageOf(db: TenantDb, line: LineRow, messageId: unknown): Promise<MessageRow> {
  if (typeof messageId !== 'string')
    throw refusal('VALIDATION_ERROR', 'messageId: must be the id of a message');
  const message = await findMessage(db, messageId);
  if (message?.lineId !== line.id) throw refusal('NOT_FOUND', 'messageId: the line has no such message');
  return message;
}
