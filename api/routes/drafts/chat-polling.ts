import { setTimeout as delay } from 'node:timers/promises';
import { systemDb } from '#db/connection/transactions.ts';
import { hasChats } from '#db/queries/drafts/chat-connections.ts';
import { currentTime } from '#domain/base/clock.ts';
import { type ChatProvider, ChatUnavailable } from '#providers/chats/chat.ts';
import type { Services } from '#api/services.ts';
import { chatEventHandler } from './chat-events.ts';

/** How often to look whether there are chats, without which nothing is asked for. */
const IDLE_MS = 5000;
const RETRY_MS = 5000;

/** Asks providers that cannot call us for what happens in chats. */
export function startChatPolling(services: Services): { stop(): Promise<void> } {
  const { pools, logger, chats } = services;
  const stopping = new AbortController();
  const { signal } = stopping;
  const pause = (ms: number): Promise<void> => delay(ms, undefined, { signal, ref: false }).catch(() => {});

  async function pollFor(provider: ChatProvider, poll: NonNullable<ChatProvider['poll']>): Promise<void> {
    const handle = chatEventHandler(services, provider);
    while (!signal.aborted) {
      try {
        if (await hasChats(systemDb(pools), provider.name, currentTime())) await poll(handle, signal);
        else await pause(IDLE_MS);
      } catch (error) {
        if (signal.aborted) return;
        // The text of another error may contain what somebody wrote.
        const reason = error instanceof ChatUnavailable ? error.message : (error as Error).name;
        logger.warn({ provider: provider.name, reason }, 'what happens in chats is not known');
        await pause(RETRY_MS);
      }
    }
  }

  const polling = Object.values(chats).map((provider) =>
    provider?.poll ? pollFor(provider, provider.poll) : Promise.resolve(),
  );
  return {
    async stop() {
      stopping.abort();
      await Promise.all(polling);
    },
  };
}
