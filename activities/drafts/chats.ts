import { currentTime } from '#domain/base/clock.ts';
import {
  breakChat,
  type ChatMessageRow,
  claimChatMessage,
  deleteChatMessage,
  emailDraft,
  moveChat,
  nextChatMessageAt,
  postponeChatMessage,
  settleChatMessage,
  notifyOfDraft,
  draftForChat,
} from '#db/commands/drafts/chat-messages.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { type Card, draftCard, ERASED_CARD, UNLINKED_CARD } from '#domain/drafts/chat.ts';
import type { ChatOutcome, ChatProvider } from '#providers/chats/chat.ts';
import type { Round } from '#workflows/protocol/round.ts';
import { chatMessengerId } from '#workflows/protocol/workflow-ids.ts';
import type { Dependencies } from '../dependencies.ts';
import { repeatFor } from '../base/round.ts';

const ROUND_MS = 60_000;
/** Longer than any call to a provider. An older claim belongs to a worker that crashed. */
const CLAIM_MS = 60_000;
const FIRST_RETRY_MS = 2000;
const LONGEST_RETRY_MS = 10 * 60_000;
/** Nobody needs a message that could not be delivered for so long. */
const GIVE_UP_MS = 3 * 86_400_000;

type Needs = Pick<Dependencies, 'pools' | 'chats' | 'logger'>;

/** What is to be done with a message. `forget`: nothing, and it is not needed any more. */
type Step = { kind: 'send' | 'edit' | 'remove'; card: Card } | { kind: 'forget' | 'keep' };

export function createChatActivities({ pools, chats, logger }: Needs) {
  /** Brings the message that is longest overdue up to date, without those that have failed. @returns whether one was due. */
  async function deliverNext(workspaceId: string, failed: Map<string, unknown>): Promise<boolean> {
    const start = currentTime();
    const until = new Date(start.getTime() + CLAIM_MS);
    const message = await withTenant(pools, workspaceId, (db) =>
      claimChatMessage(db, start, { until, without: [...failed.keys()] }),
    );
    if (!message) return false;
    await deliver(workspaceId, message).catch(async (error: unknown) => {
      failed.set(message.id, error);
      // As it was, so that the next attempts fail with it until it is set aside; those after it come first.
      await withTenant(pools, workspaceId, (db) =>
        postponeChatMessage(db, message, { until: start, restsChat: false }),
      );
    });
    return true;
  }

  async function deliver(workspaceId: string, message: ChatMessageRow): Promise<void> {
    const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
      withTenant(pools, workspaceId, work);
    const step = await tenant((db) => stepOf(db, message));
    const outcome = await carryOut(chats[message.provider], message, step);
    if (outcome && outcome.kind !== 'done')
      // Without the reason, in which a provider may repeat a text.
      logger.warn(
        { workspaceId, chatMessageId: message.id, provider: message.provider, kind: outcome.kind },
        'a chat did not get a message',
      );
    await tenant((db) => keep(db, message, step, outcome, currentTime()));
  }

  return {
    /** Brings the messages of a workspace in chats up to date. If a worker dies while it sends one, that one is sent again. */
    updateChats: ({ workspaceId }: { workspaceId: string }): Promise<Round> => {
      const failed = new Map<string, unknown>();
      return repeatFor(ROUND_MS, 'more messages are due', async () => {
        if (await deliverNext(workspaceId, failed)) return null;
        for (const error of failed.values()) throw error;
        return decide(pools, workspaceId, chatMessengerId(workspaceId), look);
      });
    },
  };
}

async function look(db: TenantDb): Promise<Look> {
  const nextAt = await nextChatMessageAt(db);
  return nextAt === null
    ? { nextAt, reason: 'every message is up to date', ended: true }
    : { nextAt, reason: 'a message is due or will be retried then' };
}

async function stepOf(
  db: TenantDb,
  { id, replyId, messageId, erased, connectionStatus }: ChatMessageRow,
): Promise<Step> {
  const told = await draftForChat(db, replyId);
  if (erased || !told) return messageId === null ? { kind: 'forget' } : { kind: 'remove', card: ERASED_CARD };
  const isLinked = connectionStatus === 'linked';
  const timezone = await workspaceTimezone(db);
  const card =
    connectionStatus === 'removed'
      ? UNLINKED_CARD
      : draftCard(told, { chatMessageId: isLinked ? id : null, timezone });
  if (messageId === null)
    return told.status === 'drafted' && isLinked ? { kind: 'send', card } : { kind: 'forget' };
  return connectionStatus === 'broken' ? { kind: 'keep' } : { kind: 'edit', card };
}

/** @returns null if there is nothing to call. */
async function carryOut(
  provider: ChatProvider | null,
  { chatId, messageId }: ChatMessageRow,
  step: Step,
): Promise<ChatOutcome | null> {
  if (!('card' in step)) return null;
  if (!provider) return { kind: 'later', retryAfterMs: LONGEST_RETRY_MS, reason: 'it is not configured' };
  if (step.kind === 'send' || messageId === null) return provider.send(chatId, step.card);
  return step.kind === 'edit'
    ? provider.edit(chatId, messageId, step.card)
    : provider.remove(chatId, messageId, step.card);
}

/** Stores what became of a message. */
async function keep(
  db: TenantDb,
  message: ChatMessageRow,
  step: Step,
  outcome: ChatOutcome | null,
  now: Date,
): Promise<void> {
  if (outcome?.kind === 'later' && now.getTime() - message.createdAt.getTime() < GIVE_UP_MS) {
    const waitMs = outcome.retryAfterMs ?? retryMs(now.getTime() - message.createdAt.getTime());
    const until = new Date(now.getTime() + waitMs);
    return postponeChatMessage(db, message, { until, restsChat: outcome.retryAfterMs !== null });
  }
  // Its messages are due, or were when somebody else found out.
  if (outcome?.kind === 'moved') return moveChat(db, message.connectionId, outcome.to, now);
  if (outcome?.kind === 'gone') await breakChat(db, message.connectionId, outcome.reason, now);
  const isUnsent = message.messageId === null && outcome?.kind !== 'done';
  if (step.kind === 'forget' || step.kind === 'remove' || isUnsent) await deleteChatMessage(db, message.id);
  else await settleChatMessage(db, message, outcome?.kind === 'done' ? outcome.messageId : null);
  if (isUnsent) await tellOthers(db, message, outcome, now);
}

/** As long as it has failed already, within bounds. */
const retryMs = (failingMs: number): number =>
  Math.min(LONGEST_RETRY_MS, Math.max(FIRST_RETRY_MS, failingMs));

/** Somebody else is to know of an open draft of which a chat could not be told. */
async function tellOthers(
  db: TenantDb,
  { replyId, erased }: ChatMessageRow,
  outcome: ChatOutcome | null,
  now: Date,
): Promise<void> {
  const told = erased ? null : await draftForChat(db, replyId);
  if (told?.status !== 'drafted') return;
  // The chat itself is in order, and would refuse it again.
  if (outcome?.kind === 'refused') await emailDraft(db, replyId, now, now);
  else await notifyOfDraft(db, { replyId, leadId: told.leadId }, now);
}
