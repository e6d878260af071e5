import { z } from 'zod';
import { readerOf } from '#db/queries/inbox/conversation-reads.ts';
import { findConversation, presentConversations } from '#db/queries/inbox/conversations.ts';
import { lockConversation } from '#db/queries/sending/message-locks.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { normalizeAddress } from '#domain/base/address.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import type { Conversation } from '#domain/inbox/conversation.ts';
import { ApiError } from '#api/http/errors.ts';

export const ConversationParams = z.object({
  address: z.string().max(320).meta({ description: 'A phone number or an email address.' }),
});

interface Context {
  db: TenantDb;
  caller: WorkspaceCaller;
  now: Date;
  params: z.infer<typeof ConversationParams>;
}

/** Like `conversationOf`, but locks the conversation, so that its contact cannot be erased in the meantime. */
export async function lockedConversationOf(context: Context): Promise<Conversation> {
  await lockConversation(context.db, addressOf(context));
  return conversationOf(context);
}

function addressOf({ caller, params: { address } }: Context): string {
  return normalizeAddress(address, caller.workspace.country) ?? address.trim().toLowerCase();
}

/** The conversation that a path names. @throws NOT_FOUND if there are no messages, sent or scheduled, from or to the address. */
export async function conversationOf(context: Context): Promise<Conversation> {
  const { db, caller, now } = context;
  const row = await findConversation(db, addressOf(context));
  const [conversation] = row ? await presentConversations(db, [row], await readerOf(db, caller, now)) : [];
  if (!conversation) throw new ApiError('NOT_FOUND', 'Conversation not found');
  return conversation;
}
