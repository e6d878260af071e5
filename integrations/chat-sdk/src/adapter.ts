import {
  type Adapter,
  type AdapterPostableMessage,
  type Attachment,
  type Author,
  type ChatInstance,
  defaultEmojiResolver,
  type EmojiValue,
  type FetchOptions,
  type FetchResult,
  type FormattedContent,
  Message,
  NotImplementedError,
  type RawMessage,
  type StreamChunk,
  type ThreadInfo,
  type WebhookOptions,
} from 'chat';
import { Linepace, LinepaceError, type LinepaceOptions, type WebhookEvent, webhooks } from 'linepace';
import { emojiOf, reactionOf } from './reactions.js';
import { literal, PlainText } from './text.js';
import { contactOf, decodeThreadId, encodeThreadId, type LinepaceThread } from './thread-id.js';

export interface LinepaceAdapterOptions extends LinepaceOptions {
  /** `whsec_…`, from the registration of the webhook. Default: the environment variable `LINEPACE_WEBHOOK_SECRET`. */
  webhookSecret?: string;
  /** How the agent is called in the Chat SDK. Default: `linepace`. */
  userName?: string;
  /**
   * `draft`: what the agent writes is a draft that a person approves. `auto`: it is sent if the key may send, else a draft.
   * Default: `auto`.
   */
  post?: 'auto' | 'draft';
}

/** What a message of the Chat SDK was made from: an event, or an item of a thread. */
type Raw = Record<string, unknown>;
type Reply = Extract<WebhookEvent, { event: 'message.reply' }>;
type Reaction = Extract<WebhookEvent, { event: 'message.reaction' }>;

/** `LINEPACE_URL`, `LINEPACE_API_KEY` and `LINEPACE_WEBHOOK_SECRET` are the defaults. */
export const createLinepaceAdapter = (options: LinepaceAdapterOptions = {}): LinepaceAdapter =>
  new LinepaceAdapter(options);

/**
 * Conversations with contacts as threads of the Chat SDK. Contacts write by way of a webhook for `message.reply` and
 * `message.reaction`; what the agent posts is sent by a line, at its pace, or becomes a draft.
 */
export class LinepaceAdapter implements Adapter<LinepaceThread, Raw> {
  readonly name = 'linepace';
  readonly userName: string;
  readonly lockScope = 'thread';
  readonly #client: Linepace;
  readonly #secret: string;
  readonly #text = new PlainText();
  #maySend: boolean;
  #chat: ChatInstance | null = null;

  constructor({ webhookSecret, userName = 'linepace', post = 'auto', ...options }: LinepaceAdapterOptions) {
    const secret = webhookSecret ?? process.env['LINEPACE_WEBHOOK_SECRET'];
    if (!secret) throw new TypeError('webhookSecret is required: pass it, or set LINEPACE_WEBHOOK_SECRET');
    this.#secret = secret;
    this.#client = new Linepace(options);
    this.#maySend = post === 'auto';
    this.userName = userName;
  }

  async initialize(chat: ChatInstance): Promise<void> {
    this.#chat = chat;
  }

  /** Answers 401 to what the server has not signed. Other events are accepted and ignored. */
  async handleWebhook(request: Request, options?: WebhookOptions): Promise<Response> {
    let event: WebhookEvent;
    try {
      event = await webhooks.unwrap(await request.text(), request.headers, this.#secret);
    } catch {
      return new Response('The signature is not valid', { status: 401 });
    }
    if (event.event === 'message.reply') this.#receive(event, options);
    if (event.event === 'message.reaction') this.#receiveReaction(event, options);
    return new Response(null, { status: 204 });
  }

  #receive(event: Reply, options?: WebhookOptions): void {
    // Nobody knows who wrote it, so no agent answers.
    if (event.warning !== undefined) return;
    const message = this.parseMessage(event as unknown as Raw);
    void this.#chat?.processMessage(this, message.threadId, message, options);
  }

  #receiveReaction(event: Reaction, options?: WebhookOptions): void {
    const { messageId, message } = event;
    const { fromPhone, fromEmail } = message as { fromPhone?: string; fromEmail?: string };
    const address = fromPhone ?? fromEmail;
    const rawEmoji = emojiOf(message);
    if (message.direction !== 'in' || address === undefined || rawEmoji === undefined) return;
    void this.#chat?.processReaction(
      {
        adapter: this,
        added: !message.removed,
        emoji: defaultEmojiResolver.fromGChat(rawEmoji),
        rawEmoji,
        messageId,
        threadId: encodeThreadId({ address }),
        user: contact(address, ''),
        raw: event,
      },
      options,
    );
  }

  parseMessage(raw: Raw): Message<Raw> {
    return 'event' in raw ? this.#ofReply(raw as unknown as Reply) : this.#ofItem(raw as unknown as Item);
  }

  #ofReply(event: Reply): Message<Raw> {
    const { recipientPhone, recipientEmail, name } = event.data.reply;
    const address = recipientPhone ?? recipientEmail ?? '';
    return this.#message({
      id: event.messageId,
      address,
      text: event.message,
      author: contact(address, name ?? ''),
      at: event.repliedAtUtc ?? event.timestamp,
      raw: event as unknown as Raw,
    });
  }

  #ofItem(item: Item): Message<Raw> {
    const { address } = item;
    return this.#message({
      id: item.messageId,
      address,
      text: item.message,
      author: item.direction === 'in' ? contact(address, '') : this.#self(),
      at: item.at,
      editedAt: item.editedAt,
      attachments: item.attachmentUrls.map((url, index) => ({
        type: 'file' as const,
        url,
        name: item.attachmentNames[index],
      })),
      raw: item as unknown as Raw,
    });
  }

  #message(of: {
    id: string;
    address: string;
    text: string;
    author: Author;
    at: string;
    editedAt?: string | null;
    attachments?: Attachment[];
    raw: Raw;
  }): Message<Raw> {
    return new Message({
      id: of.id,
      threadId: encodeThreadId({ address: of.address }),
      text: of.text,
      formatted: this.#text.toAst(of.text),
      author: of.author,
      metadata: {
        dateSent: new Date(of.at),
        edited: Boolean(of.editedAt),
        ...(of.editedAt && { editedAt: new Date(of.editedAt) }),
      },
      attachments: of.attachments ?? [],
      raw: of.raw,
    });
  }

  #self(): Author {
    return {
      userId: this.userName,
      userName: this.userName,
      fullName: this.userName,
      isBot: 'unknown',
      isMe: true,
    };
  }

  /** @returns the message, or the draft if the key may not send. */
  async postMessage(threadId: string, posted: AdapterPostableMessage): Promise<RawMessage<Raw>> {
    const message = this.#rendered(posted);
    const to = contactOf(threadId);
    if (this.#maySend) {
      try {
        const sent = await this.#client.conversations.sendReply({ ...to, message });
        return { id: sent._id, threadId, raw: sent as unknown as Raw };
      } catch (error) {
        if (!(error instanceof LinepaceError) || error.code !== 'INSUFFICIENT_SCOPE') throw error;
        this.#maySend = false;
      }
    }
    const { draft } = await this.#client.aiDrafts.createDraft({ ...to, message });
    return { id: draft.replyId, threadId, raw: draft as unknown as Raw };
  }

  /** Collects the whole text: a phone shows no text that grows. */
  async stream(threadId: string, chunks: AsyncIterable<string | StreamChunk>): Promise<RawMessage<Raw>> {
    let text = '';
    for await (const chunk of chunks) {
      if (typeof chunk === 'string') text += chunk;
      else if (chunk.type === 'markdown_text') text += chunk.text;
    }
    return this.postMessage(threadId, { markdown: text });
  }

  /** Before it is sent, or afterwards where the line can. @throws LinepaceError `INVALID_STATE`, `UNSUPPORTED_BY_CARRIER` */
  async editMessage(threadId: string, id: string, posted: AdapterPostableMessage): Promise<RawMessage<Raw>> {
    const edited = await this.#client.messages.edit({ id, message: this.#rendered(posted) });
    return { id, threadId, raw: edited as unknown as Raw };
  }

  async deleteMessage(_threadId: string, id: string): Promise<void> {
    await this.#client.messages.unsend({ id });
  }

  async addReaction(_threadId: string, id: string, emoji: EmojiValue | string): Promise<void> {
    await this.#client.messages.reactTo({ id, ...reactionOf(emoji) });
  }

  async removeReaction(_threadId: string, id: string, emoji: EmojiValue | string): Promise<void> {
    await this.#client.messages.reactTo({ id, ...reactionOf(emoji), remove: true });
  }

  /** Where the line can, and the contact wrote within five minutes; else nothing is shown. */
  async startTyping(threadId: string): Promise<void> {
    const { address } = decodeThreadId(threadId);
    try {
      await this.#client.conversations.showTyping({ address, state: 'on' });
    } catch (error) {
      if (!(error instanceof LinepaceError) || error.status >= 500) throw error;
    }
  }

  async fetchMessages(
    threadId: string,
    { cursor, limit = 50, direction = 'backward' }: FetchOptions = {},
  ): Promise<FetchResult<Raw>> {
    if (direction === 'forward')
      throw new NotImplementedError('Messages are read from the newest to the oldest', 'fetchMessages');
    const { address } = decodeThreadId(threadId);
    const page = await this.#client.conversations.get({ address, limit, ...(cursor && { cursor }) });
    const messages = page.messages
      .map((item) => this.parseMessage({ ...item, address }))
      .toSorted((one, other) => one.metadata.dateSent.getTime() - other.metadata.dateSent.getTime());
    return { messages, ...(page.nextCursor !== null && { nextCursor: page.nextCursor }) };
  }

  async fetchThread(threadId: string): Promise<ThreadInfo> {
    const { address } = decodeThreadId(threadId);
    const { conversation } = await this.#client.conversations.get({ address, limit: 1 });
    return {
      id: threadId,
      channelId: this.channelIdFromThreadId(threadId),
      isDM: true,
      metadata: conversation as unknown as Record<string, unknown>,
    };
  }

  async openDM(address: string): Promise<string> {
    return encodeThreadId({ address });
  }

  isDM(): boolean {
    return true;
  }

  encodeThreadId = encodeThreadId;
  decodeThreadId = decodeThreadId;

  channelIdFromThreadId(threadId: string): string {
    return threadId;
  }

  renderFormatted(content: FormattedContent): string {
    return this.#text.fromAst(content);
  }

  #rendered(posted: AdapterPostableMessage): string {
    const files = typeof posted === 'object' && 'files' in posted ? (posted.files ?? []) : [];
    if (files.length > 0) throw new NotImplementedError('Files cannot be posted', 'files');
    return literal(this.#text.renderPostable(posted));
  }
}

/** A message of `GET /api/conversations/{address}`, with that address. */
interface Item {
  messageId: string;
  address: string;
  direction: 'in' | 'out';
  message: string;
  at: string;
  editedAt: string | null;
  attachmentUrls: string[];
  attachmentNames: string[];
}

const contact = (address: string, fullName: string): Author => ({
  userId: address,
  userName: address,
  fullName,
  ...(address.includes('@') && { email: address }),
  isBot: false,
  isMe: false,
});
