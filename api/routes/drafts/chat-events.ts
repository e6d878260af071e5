import {
  type ChatMessageRow,
  closeChats,
  findChatMessage,
  refreshChats,
  toldDraft,
} from '#db/commands/drafts/chat-messages.ts';
import { requestVersion, resolveDraft } from '#db/commands/drafts/draft-resolution.ts';
import { systemDb, type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { requireWritable } from '#db/queries/accounts/writable.ts';
import { workspaceCountry, workspaceProfile, workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import { type DraftRow, findDraft } from '#db/queries/drafts/ai-drafts.ts';
import {
  breakChatConnection,
  connectionsOfChat,
  findChatCode,
  linkChat,
  lockPendingChat,
  userOfChatAccount,
} from '#db/queries/drafts/chat-connections.ts';
import { findInboxMember, findTeamMember, type InboxMember } from '#db/queries/inbox/inbox-members.ts';
import { currentTime } from '#domain/base/clock.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { hashSecretToken } from '#domain/base/secret-token.ts';
import { type AuditActor, shownActor } from '#domain/accounts/audit.ts';
import { type DraftAction, DraftResolution, RESOLVED_AS } from '#domain/drafts/ai-draft.ts';
import { type ChatAction, draftVersion, readButton } from '#domain/drafts/chat.ts';
import type { ChatEvent, ChatProvider } from '#providers/chats/chat.ts';
import type { Services } from '#api/services.ts';

type Of<K extends ChatEvent['kind']> = Extract<ChatEvent, { kind: K }>;

/** What somebody wants of a draft in a chat. */
interface Wish {
  action: ChatAction;
  message?: string;
  /** Of the text that the person saw; absent: they wrote their own. */
  version?: string;
}

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
        breakChatConnection(db, id, 'the bot was blocked or removed'),
      );
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
    userId: string,
    { version, ...wish }: Wish,
  ): Promise<string> {
    const memberId = await userOfChatAccount(db, provider.name, userId);
    const member = memberId === null ? null : await findInboxMember(db, memberId);
    if (!member) return 'Link your own account in the console first. Only members decide.';
    const now = currentTime();
    await requireWritable(db);
    const draft = await findDraft(db, replyId);
    const isOther = version !== undefined && draftVersion(draft?.draft ?? '') !== version;
    if (draft?.status === 'drafted' && isOther) {
      await refreshChats(db, replyId, now);
      return 'The draft has changed. Read it again.';
    }
    const { action, message } = wish;
    const by = actorOf(member);
    // The provider repeats what it got no response for.
    if (draft && action === 'retry' && draft.status === 'drafted' && draft.retryAt !== null)
      return DONE[action];
    if (draft && action !== 'retry' && (await isDone(db, draft, { action, message }, by)))
      return DONE[action];
    if (action === 'retry') await requestVersion(db, { replyId, hint: null }, now);
    else {
      const workspace = { timezone: await workspaceTimezone(db), country: await workspaceCountry(db) };
      const { links, carriers } = services;
      const context = { workspace, links, capabilitiesOf: carriers.capabilitiesOf, now };
      const decision = { replyId, action, message, channel: 'chat_app', userId: member.userId, by } as const;
      await resolveDraft(db, decision, context);
    }
    await insertAuditEntry(
      { db, workspaceId: db.workspaceId },
      {
        actor: by,
        channel: 'session',
        action: 'draft.decided',
        target: { type: 'draft', id: replyId },
        changes: { replyId, action },
      },
    );
    return DONE[action];
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
      case 'challenge':
        return null;
    }
  };
}

const actorOf = ({ userId, email }: Pick<InboxMember, 'userId' | 'email'>): AuditActor => ({
  type: 'user',
  id: userId,
  name: email,
});

/** Whether it was decided so by the same person in a chat. */
async function isDone(
  db: TenantDb,
  { replyId, status, approvalChannel, resolvedBy }: DraftRow,
  { action, message }: { action: DraftAction; message: string | undefined },
  by: AuditActor,
): Promise<boolean> {
  const isByThem = resolvedBy === shownActor(by) && approvalChannel?.startsWith('chat_app') === true;
  if (!isByThem || status !== RESOLVED_AS[action]) return false;
  if (message === undefined) return approvalChannel !== 'chat_app_edit';
  const told = await toldDraft(db, replyId);
  return (told?.sentInstead ?? told?.draft) === message;
}

const DONE: Record<ChatAction, string> = {
  approve: 'It is being sent.',
  retry: 'Another version is being written.',
  reject: 'Rejected.',
};

const TEXTS: Partial<Record<Refusal['code'], string>> = {
  NO_ACTIVE_LINE: 'Not sent: no line of the workspace can send it.',
  READ_ONLY: 'The subscription is past due: nothing can be sent.',
  SUBSCRIPTION_REQUIRED: 'The workspace has no subscription: nothing can be sent.',
  WORKSPACE_SUSPENDED: 'The workspace is suspended: nothing can be sent.',
  DRAFT_ALREADY_RESOLVED: 'Somebody has decided already.',
  INVALID_STATE: 'There is no other version: the copilot is off, or has written as many as it may.',
};

/** @throws what is not a refusal. */
function refusalText(error: unknown): string {
  if (!(error instanceof Refusal)) throw error;
  return TEXTS[error.code] ?? 'This cannot be sent any more.';
}
