import type { Part } from '../parts.ts';
import type { Chats } from './chat.ts';

/** The providers of chats as outside parts; null: one is not configured. */
export const chatParts = (chats: Chats): Record<keyof Chats, Part | null> => ({
  telegram: partOf(chats.telegram),
  slack: partOf(chats.slack),
});

const partOf = (provider: Chats[keyof Chats]): Part | null =>
  provider && { title: `the chats of ${provider.title}`, check: () => provider.check() };
