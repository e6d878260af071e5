import type { Context } from 'koa';
import { ChatProviderName } from '#domain/drafts/chat.ts';
import {
  BadChatSignature,
  type ChatEvent,
  type ChatProvider,
  ChatUnavailable,
  UnreadableChatRequest,
} from '#providers/chats/chat.ts';
import { readUtf8Body } from '#api/http/body.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { refuseSignature } from '#api/http/refuse-signature.ts';
import { publicRoute } from '#api/http/route.ts';
import type { Services } from '#api/services.ts';
import { chatEventHandler } from './chat-events.ts';

export const chatCallbackRoutes = [
  /** Providers repeat what they get no 2xx response for. */
  publicRoute({
    id: 'chatCallback',
    method: 'POST',
    path: '/callbacks/chats/{provider}',
    tag: 'Callbacks',
    summary: 'Receive what happens in linked chats, verified as their provider documents',
    contentTypes: { 200: 'application/json' },
    errors: ['NOT_FOUND', 'VALIDATION_ERROR', 'UNAUTHORIZED', 'BODY_TOO_LARGE'],
    async respond(context, services) {
      const provider = providerOf(context, services);
      const event = await readEvent(context, provider, services);
      if (event?.kind === 'challenge') return void (context.body = event.body);
      const text = event && (await chatEventHandler(services, provider)(event));
      context.body = event && text !== null ? await answer(provider, event, text, services) : {};
    },
  }),
];

/** @throws NOT_FOUND */
function providerOf(context: Context, { chats }: Services): ChatProvider {
  const { provider: given } = context['params'] as Record<string, string>;
  const name = ChatProviderName.safeParse(given);
  const provider = name.success ? chats[name.data] : null;
  if (!provider) throw new ApiError('NOT_FOUND');
  return provider;
}

/** @throws UNAUTHORIZED, VALIDATION_ERROR; RATE_LIMITED after too many requests from one client that are not the provider's. */
async function readEvent(
  context: Context,
  provider: ChatProvider,
  services: Services,
): Promise<ChatEvent | null> {
  const body = await readUtf8Body(context);
  try {
    return provider.read({ body, header: (name) => context.get(name) });
  } catch (error) {
    if (error instanceof UnreadableChatRequest) throw invalid('', 'the body cannot be read');
    if (!(error instanceof BadChatSignature)) throw error;
    return refuseSignature(context, services);
  }
}

/** What was decided counts, whether or not the person hears of it: every message about it is brought up to date anyway. */
async function answer(
  provider: ChatProvider,
  event: ChatEvent,
  text: string,
  { logger }: Services,
): Promise<object> {
  try {
    return await provider.answer(event, text);
  } catch (error) {
    if (!(error instanceof ChatUnavailable)) throw error;
    logger.warn({ provider: provider.name, reason: error.message }, 'a person in a chat got no answer');
    return {};
  }
}
