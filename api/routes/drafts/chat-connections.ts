import { z } from 'zod';
import {
  findChatConnection,
  insertChatConnection,
  listChatConnections,
  presentChatConnection,
  removeChatConnection,
} from '#db/queries/drafts/chat-connections.ts';
import { closeChats } from '#db/commands/drafts/chat-messages.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { findInboxMember } from '#db/queries/inbox/inbox-members.ts';
import { Id } from '#domain/base/ids.ts';
import { hashSecretToken, newSecretToken } from '#domain/base/secret-token.ts';
import { CHAT_CODE_MS, ChatConnection, ChatConnectionInput } from '#domain/drafts/chat.ts';
import { ChatUnavailable } from '#providers/chats/chat.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { requestHash, withIdempotencyKey, workspaceKeys } from '#api/http/idempotency.ts';
import { workspaceRoute } from '#api/http/route.ts';

const connectionNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Chat connection not found');

const CreatedChatConnection = z.object({
  success: z.literal(true),
  _id: Id,
  linkUrl: z.string().meta({ description: 'Opens the provider, where the code links the chat.' }),
  code: z.string(),
  expiresAt: z.iso.datetime(),
});

export const chatConnectionRoutes = [
  workspaceRoute({
    id: 'listChatConnections',
    method: 'GET',
    path: '/api/chat-connections',
    tag: 'AI drafts',
    summary: 'List the chats in which members decide about drafts, newest first',
    responses: {
      200: z.object({ success: z.literal(true), chatConnections: z.array(ChatConnection) }),
    },
    async handler({ db, now }) {
      const chatConnections = (await listChatConnections(db, now)).map(presentChatConnection);
      return { status: 200, body: { success: true, chatConnections } };
    },
  }),

  workspaceRoute({
    id: 'createChatConnection',
    method: 'POST',
    path: '/api/chat-connections',
    tag: 'AI drafts',
    credential: 'session',
    mode: 'live',
    idempotent: true,
    transaction: false,
    summary: 'Get a link with which the caller links a chat',
    description:
      'Whoever opens the link acts in the chat as the caller, within the role that the caller has then. The code works once, for 15 minutes. A member has one chat at a provider, and so has the workspace: linking another replaces it.',
    body: ChatConnectionInput,
    responses: {
      201: CreatedChatConnection,
    },
    errors: ['ADMIN_REQUIRED', 'UNAVAILABLE'],
    audit: {
      action: 'chat_connection.created',
      target: 'chat_connection',
      targets: 'handler',
      changes: ['provider', 'scope'],
    },
    async handler({ caller, body, header, now, pools, chats, secrets, audit }) {
      const { userId } = caller;
      if (body.scope === 'workspace' && caller.role !== 'org:admin') throw new ApiError('ADMIN_REQUIRED');
      const provider = chats[body.provider];
      if (!provider) throw invalid('provider', 'is not configured in this installation');
      const code = newSecretToken();
      const linkUrl = await provider.linkUrl(code, body.scope).catch((error: unknown) => {
        throw error instanceof ChatUnavailable
          ? new ApiError('UNAVAILABLE', `${provider.title} is unavailable; try again`)
          : error;
      });
      const key = header('idempotency-key');
      const keyed = { route: 'createChatConnection', key, hash: key === '' ? '' : await requestHash(body) };
      const answer = await withTenant(pools, caller.workspace.id, (db) =>
        withIdempotencyKey(workspaceKeys(db), keyed, secrets, async () => {
          // A user of the agency may act for the workspace, but not in a chat, where only members are known.
          if (userId === null || !(await findInboxMember(db, userId)))
            throw invalid('scope', 'only a member of the workspace can link a chat');
          const codeHash = hashSecretToken(code);
          const row = await insertChatConnection(db, body, { userId, codeHash }, now);
          await audit(db, [{ id: row.id }]);
          const expiresAt = new Date(row.createdAt.getTime() + CHAT_CODE_MS).toISOString();
          return { status: 201, body: { success: true, _id: row.id, linkUrl, code, expiresAt } };
        }),
      );
      return { ...answer, status: 201, body: CreatedChatConnection.parse(answer.body) };
    },
  }),

  workspaceRoute({
    id: 'deleteChatConnection',
    method: 'DELETE',
    path: '/api/chat-connections/{id}',
    tag: 'AI drafts',
    summary: 'Unlink a chat; its messages about open drafts are emptied',
    description:
      "Members who are not admins unlink their own chats. The chat's messages stay there; those about open drafts say that it is not linked any more, and others are told of these drafts.",
    params: z.object({ id: Id }),
    responses: { 200: z.object({ success: z.literal(true) }) },
    errors: ['NOT_FOUND', 'ADMIN_REQUIRED'],
    audit: { action: 'chat_connection.deleted', target: 'chat_connection' },
    async handler({ db, caller, params, now }) {
      const row = await findChatConnection(db, params.id, now);
      if (!row) throw connectionNotFound();
      const isOwn = row.userId === caller.userId && row.scope === 'member';
      if (caller.via === 'session' && caller.role !== 'org:admin' && !isOwn)
        throw new ApiError('ADMIN_REQUIRED');
      await removeChatConnection(db, row.id);
      await closeChats(db, [row.id], now);
      return { status: 200, body: { success: true } };
    },
  }),
];
