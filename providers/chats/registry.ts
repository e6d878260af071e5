import type { Signer } from '../signer.ts';
import type { Chats } from './chat.ts';
import { createSlack, type SlackOptions } from './slack.ts';
import { createTelegram, type TelegramOptions } from './telegram.ts';

export interface ChatOptions {
  publicUrl: string;
  chats: { telegram: Omit<TelegramOptions, 'publicUrl' | 'signer'> | null; slack: SlackOptions | null };
}

export const createChats = (
  { publicUrl, chats: { telegram, slack } }: ChatOptions,
  signer: Signer,
): Chats => ({
  telegram: telegram && createTelegram({ ...telegram, publicUrl, signer }),
  slack: slack && createSlack(slack),
});
