import { z } from 'zod';
import { readerOf } from '#db/queries/conversation-reads.ts';
import { findConversation, presentConversations } from '#db/queries/conversations.ts';
import type { TenantDb } from '#db/transactions.ts';
import { normalizeAddress } from '#domain/address.ts';
import type { WorkspaceCaller } from '#domain/caller.ts';
import type { Conversation } from '#domain/conversation.ts';
import { ApiError } from './http/errors.ts';

export const ConversationParams = z.object({
  address: z.string().max(320).meta({ description: 'A phone number or an email address.' }),
});

interface Context {
  db: TenantDb;
  caller: WorkspaceCaller;
  now: Date;
  params: z.infer<typeof ConversationParams>;
}

/** The conversation that a path names. @throws NOT_FOUND if there are no messages, sent or scheduled, from or to the address. */
export async function conversationOf({ db, caller, now, params }: Context): Promise<Conversation> {
  const text = params.address;
  const address = normalizeAddress(text, caller.workspace.country) ?? text.trim().toLowerCase();
  const row = await findConversation(db, address);
  const [conversation] = row ? await presentConversations(db, [row], await readerOf(db, caller, now)) : [];
  if (!conversation) throw new ApiError('NOT_FOUND', 'Conversation not found');
  return conversation;
}
