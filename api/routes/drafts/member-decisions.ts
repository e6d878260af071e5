import { refreshChats, draftForChat } from '#db/commands/drafts/chat-messages.ts';
import { lockToAnswer, requestVersion, resolveDraft } from '#db/commands/drafts/draft-resolution.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { requireWritable } from '#db/queries/accounts/writable.ts';
import { workspaceCountry, workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import { type DraftRow, findDraft } from '#db/queries/drafts/ai-drafts.ts';
import { lockConversation } from '#db/queries/sending/message-locks.ts';
import type { InboxMember } from '#db/queries/inbox/inbox-members.ts';
import { type AuditActor, shownActor } from '#domain/accounts/audit.ts';
import { currentTime } from '#domain/base/clock.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { type DraftAction, RESOLVED_AS } from '#domain/drafts/ai-draft.ts';
import { type ChatAction, draftVersion } from '#domain/drafts/chat.ts';
import type { Services } from '#api/services.ts';

/** What a member wants of a draft where they are not signed in: in a chat, or with a link of an email. */
export interface MemberWish {
  replyId: string;
  action: ChatAction;
  channel: 'chat_app' | 'dashboard';
  /** Sent instead of the draft. */
  message?: string;
  /** Of the text that they saw; absent: they wrote their own. */
  version?: string;
}

/** @returns what to tell them. @throws Refusal, whose text is `refusalText`. */
export async function decideAs(
  db: TenantDb,
  member: InboxMember,
  { replyId, action, channel, message, version }: MemberWish,
  { links, carriers: { capabilitiesOf } }: Pick<Services, 'links' | 'carriers'>,
): Promise<string> {
  const now = currentTime();
  await requireWritable(db);
  const found = await findDraft(db, replyId);
  // What is approved is what they saw: no other version is stored in the meantime.
  if (found?.status === 'drafted')
    await (action === 'approve' ? lockToAnswer(db, found) : lockConversation(db, found.address));
  const draft = await findDraft(db, replyId);
  const isOther = version !== undefined && draftVersion(draft?.draft ?? '') !== version;
  if (draft?.status === 'drafted' && isOther) {
    await refreshChats(db, replyId, now);
    return 'The draft has changed. Read it again.';
  }
  const by = actorOf(member);
  // Providers of chats repeat what they got no response for.
  if (draft && (await isDone(db, draft, { action, message }, by))) return DONE[action];
  if (action === 'retry') await requestVersion(db, { replyId, hint: null }, now);
  else {
    const workspace = { timezone: await workspaceTimezone(db), country: await workspaceCountry(db) };
    const decision = { replyId, action, message, channel, userId: member.userId, by };
    await resolveDraft(db, decision, { workspace, links, capabilitiesOf, now });
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

export const actorOf = ({ userId, email }: Pick<InboxMember, 'userId' | 'email'>): AuditActor => ({
  type: 'user',
  id: userId,
  name: email,
});

/** Whether the same person asked for the same before. */
async function isDone(
  db: TenantDb,
  { replyId, status, approvalChannel, resolvedBy, retryAt }: DraftRow,
  { action, message }: { action: ChatAction; message: string | undefined },
  by: AuditActor,
): Promise<boolean> {
  if (action === 'retry') return status === 'drafted' && retryAt !== null;
  if (resolvedBy !== shownActor(by) || status !== RESOLVED_AS[action satisfies DraftAction]) return false;
  if (message === undefined) return approvalChannel !== 'chat_app_edit';
  const told = await draftForChat(db, replyId);
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
export function refusalText(error: unknown): string {
  if (!(error instanceof Refusal)) throw error;
  return TEXTS[error.code] ?? 'This cannot be sent any more.';
}
