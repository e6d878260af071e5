import {
  type ChatMessageRow,
  breakChat,
  closeChats,
  findChatMessage,
  moveChat,
} from '#db/commands/drafts/chat-messages.ts';
import { systemDb, type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { workspaceProfile } from '#db/queries/accounts/workspaces.ts';
import {
  connectionsOfChat,
  findChatCode,
  linkChat,
  lockPendingChat,
  userOfChatAccount,
} from '#db/queries/drafts/chat-connections.ts';
import { findInboxMember, findTeamMember } from '#db/queries/inbox/inbox-members.ts';
import { currentTime } from '#domain/base/clock.ts';
import { hashSecretToken } from '#domain/base/secret-token.ts';
import { DraftResolution } from '#domain/drafts/ai-draft.ts';
import { readButton } from '#domain/drafts/chat.ts';
import type { ChatEvent, ChatProvider } from '#providers/chats/chat.ts';
import type { Services } from '#api/services.ts';
import { actorOf, decideAs, type MemberWish, refusalText } from './member-decisions.ts';

type Of<K extends ChatEvent['kind']> = Extract<ChatEvent, { kind: K }>;

const UNKNOWN = 'This message is not open any more.';

/** Carries out what happens in the chats of a provider. @returns what to tell whoever did it; null: nothing. */
export function chatEventHandler(services: Services, provider: ChatProvider) {
  const { pools } = services;
  const chatsOf = (chatId: string) => connectionsOfChat(systemDb(pools), provider.name, chatId);

  async function link({ code, chatId, userId, isPrivate }: Of<'code'>): Promise<string> {
    const codeHash = hashSecretToken(code);
    const place = await findChatCode(systemDb(pools), provider.name, codeHash);
    const used = 'This code was used, or is too old. Get a new one in the console.';
    if (!place) return used;
    if (userId === null) return 'You are anonymous here. Write the code as yourself.';
    return withTenant(pools, place.workspaceId, async (db) => {
      const now = currentTime();
      const pending = await lockPendingChat(db, place.id, codeHash, now);
      if (!pending) return used;
      if (pending.scope === 'member' && !isPrivate)
        return 'This code links a chat of your own. Use it in a private chat with me.';
      const member = await findTeamMember(db, pending.userId);
      if (!member) return 'You are not a member of the workspace any more.';
      if (pending.scope === 'workspace' && !member.isAdmin)
        return 'Only an owner or admin of the workspace can link its chat.';
      const replaced = await linkChat(db, pending, { chatId, externalUserId: userId }, now);
      await closeChats(db, replaced, now);
      await insertAuditEntry(
        { db, workspaceId: db.workspaceId },
        {
          actor: actorOf(member),
          channel: 'session',
          action: 'chat_connection.linked',
          target: { type: 'chat_connection', id: pending.id },
          changes: { provider: provider.name, scope: pending.scope },
        },
      );
      const { name } = await workspaceProfile(db);
      return `This chat is linked. I tell you of drafts in ${name}.`;
    });
  }

  async function block({ chatId }: Of<'blocked'>): Promise<null> {
    for (const { workspaceId, id } of await chatsOf(chatId))
      await withTenant(pools, workspaceId, (db) =>
        breakChat(db, id, 'the bot was blocked or removed', currentTime()),
      );
    return null;
  }

  async function move({ chatId, to }: Of<'moved'>): Promise<null> {
    for (const { workspaceId, id } of await chatsOf(chatId))
      await withTenant(pools, workspaceId, (db) => moveChat(db, id, to, currentTime()));
    return null;
  }

  /** Finds the message in the workspaces that have linked the chat, and acts on it there. */
  async function inItsWorkspace(
    chatId: string,
    by: { id: string } | { messageId: string },
    work: (db: TenantDb, message: ChatMessageRow) => Promise<string>,
  ): Promise<string> {
    for (const { workspaceId, id } of await chatsOf(chatId)) {
      const found = await withTenant(pools, workspaceId, (db) => findChatMessage(db, id, by));
      if (found) return withTenant(pools, workspaceId, (db) => work(db, found)).catch(refusalText);
    }
    return UNKNOWN;
  }

  /** Decides as the member who has linked the account. */
  async function decide(
    db: TenantDb,
    { replyId }: ChatMessageRow,
    userId: string | null,
    wish: Pick<MemberWish, 'action' | 'message' | 'version'>,
  ): Promise<string> {
    const memberId = userId === null ? null : await userOfChatAccount(db, provider.name, userId);
    const member = memberId === null ? null : await findInboxMember(db, memberId);
    if (!member) return 'Link your own account in the console first. Only members decide.';
    return decideAs(db, member, { replyId, channel: 'chat_app', ...wish }, services);
  }

  async function press({ chatId, userId, data }: Of<'press'>): Promise<string> {
    const button = readButton(data);
    if (!button) return UNKNOWN;
    const { action, version } = button;
    return inItsWorkspace(chatId, { id: button.chatMessageId }, (db, message) =>
      decide(db, message, userId, { action, version }),
    );
  }

  /** By the button, if there is one: the id of a message whose response was lost is not known. */
  async function write({ chatId, userId, messageId, data, text }: Of<'text'>): Promise<string> {
    const button = readButton(data ?? '');
    const by = button ? { id: button.chatMessageId } : { messageId };
    return inItsWorkspace(chatId, by, async (db, message) => {
      const own = DraftResolution.shape.message.safeParse(text);
      if (!own.success || own.data === undefined) return 'Not sent: it must be a text that can be sent.';
      return decide(db, message, userId, { action: 'approve', message: own.data });
    });
  }

  return async (event: ChatEvent): Promise<string | null> => {
    switch (event.kind) {
      case 'code':
        return link(event);
      case 'press':
        return press(event);
      case 'text':
        return write(event);
      case 'blocked':
        return block(event);
      case 'moved':
        return move(event);
      case 'challenge':
        return null;
    }
  };
}
