import { z } from 'zod';
import { readerOf } from '#db/queries/inbox/conversation-reads.ts';
import { findConversation, presentConversations } from '#db/queries/inbox/conversations.ts';
import { lockConversation } from '#db/queries/sending/message-locks.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { normalizeAddress } from '#domain/base/address.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { isGroupAddress } from '#domain/inbox/group.ts';
import type { Conversation } from '#domain/inbox/conversation.ts';
import { ApiError } from '#api/http/errors.ts';

const Address = z
  .string()
  .max(320)
  .meta({ description: 'A phone number or an email address, or `group:` and the id of a group.' });
export const ConversationParams = z.object({ address: Address });
/** In a query: only what concerns a contact. */
export const ContactFilter = Address.optional();

interface Context {
  db: TenantDb;
  caller: WorkspaceCaller;
  now: Date;
  params: z.infer<typeof ConversationParams>;
}

/** Like `conversationOf`, but locks the conversation, so that its contact cannot be erased in the meantime. */
export async function lockedConversationOf(context: Context): Promise<Conversation> {
  await lockConversation(context.db, addressOf(context.caller, context.params.address));
  return conversationOf(context);
}

/** The address of the conversation with a contact. */
export const addressOf = ({ workspace }: WorkspaceCaller, address: string): string =>
  isGroupAddress(address)
    ? address
    : (normalizeAddress(address, workspace.country) ?? address.trim().toLowerCase());

/** The conversation that a path names. @throws NOT_FOUND if there are no messages, sent or scheduled, from or to the address. */
export async function conversationOf(context: Context): Promise<Conversation> {
  const { db, caller, now, params } = context;
  const row = await findConversation(db, addressOf(caller, params.address));
  const [conversation] = row ? await presentConversations(db, [row], await readerOf(db, caller, now)) : [];
  if (!conversation) throw new ApiError('NOT_FOUND', 'Conversation not found');
  return conversation;
}
