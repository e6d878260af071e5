import type { Card, ChatProviderName, ChatScope } from '#domain/drafts/chat.ts';

/** What became of a call to the provider. */
export type ChatOutcome =
  | { kind: 'done'; messageId: string }
  /** To be tried again. @param retryAfterMs how long the provider wants to be left alone; null: it did not say. */
  | { kind: 'later'; retryAfterMs: number | null; reason: string }
  /** Nothing can be delivered to the chat any more, for example because the bot was blocked. */
  | { kind: 'gone'; reason: string }
  /** The chat has another id now, under which none of its messages is known. */
  | { kind: 'moved'; to: string }
  | { kind: 'refused'; reason: string };

/** Where something happened, and who did it, by the provider's ids. */
interface ChatPlace {
  chatId: string;
  /** null: the provider does not say who, such as an anonymous admin of a group. */
  userId: string | null;
}

/** What the provider reports. */
export type ChatEvent =
  /** Somebody opened a link, or wrote its code. @param isPrivate nobody else reads the chat. */
  | (ChatPlace & { kind: 'code'; code: string; isPrivate: boolean })
  | (ChatPlace & { kind: 'press'; messageId: string; data: string; pressId: string })
  /**
   * Somebody answered a message of ours.
   * @param text null: without a text, for example with a picture.
   * @param data of a button of the message that was answered; null: it has none, or the provider does not tell.
   */
  | (ChatPlace & { kind: 'text'; messageId: string; data: string | null; ownId: string; text: string | null })
  | { kind: 'blocked'; chatId: string }
  /** As the outcome. */
  | { kind: 'moved'; chatId: string; to: string }
  /** The provider checks the address. @param body what it wants to hear. */
  | { kind: 'challenge'; body: object };

export interface ChatRequest {
  body: string;
  header(name: string): string;
}

/** The request is not the provider's. */
export class BadChatSignature extends Error {
  override readonly name = 'BadChatSignature';
}

/** The request is the provider's, and cannot be read. */
export class UnreadableChatRequest extends Error {
  override readonly name = 'UnreadableChatRequest';
}

/** The provider does not respond, or refuses our credentials. The message contains neither texts nor addresses. */
export class ChatUnavailable extends Error {
  override readonly name = 'ChatUnavailable';
}

/** A provider of chats, with the account of the installation. */
export interface ChatProvider {
  readonly name: ChatProviderName;
  readonly title: string;
  /** The page on which a person links a chat with a code. @throws ChatUnavailable */
  linkUrl(code: string, scope: ChatScope): Promise<string>;
  /** Sends a message. If the response is lost, it is sent again: no provider recognizes a repeated request. */
  send(chatId: string, card: Card): Promise<ChatOutcome>;
  /** Replaces a message. */
  edit(chatId: string, messageId: string, card: Card): Promise<ChatOutcome>;
  /** Deletes a message. @param card what to show instead, if the provider does not delete it any more. */
  remove(chatId: string, messageId: string, card: Card): Promise<ChatOutcome>;
  /**
   * @returns null for what is of no interest.
   * @throws BadChatSignature, UnreadableChatRequest
   */
  read(request: ChatRequest): ChatEvent | null;
  /** Tells whoever caused an event what became of it. @returns the body of the response to its request. @throws ChatUnavailable */
  answer(event: ChatEvent, text: string): Promise<object>;
  /**
   * Waits for what happens in chats, where the provider cannot call us, and has it handled. What is not handled comes again.
   * null: the provider calls us.
   * @param handle returns what to tell whoever caused it; null: nothing.
   * @throws ChatUnavailable, what `handle` throws, or any error once `stopped` is aborted
   */
  readonly poll:
    | ((handle: (event: ChatEvent) => Promise<string | null>, stopped: AbortSignal) => Promise<void>)
    | null;
  /** @throws ChatUnavailable */
  check(): Promise<void>;
}

/** The configured providers by name. */
export type Chats = Readonly<Record<ChatProviderName, ChatProvider | null>>;
