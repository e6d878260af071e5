import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Card } from '#domain/drafts/chat.ts';
import { firstOf, readable } from '#domain/base/bounded-schema.ts';
import { boundedRetryMs } from '#domain/base/retry-after.ts';
import { isSecretToken } from '#domain/base/secret-token.ts';
import { tryParseUntrustedJson } from '#domain/base/untrusted-json.ts';
import type { Signer } from '../signer.ts';
import {
  BadChatSignature,
  type ChatEvent,
  type ChatOutcome,
  type ChatProvider,
  type ChatRequest,
  ChatUnavailable,
  UnreadableChatRequest,
} from './chat.ts';
import { chatPoster, unlessUnavailable } from './chat-request.ts';

export interface TelegramOptions {
  /** `TELEGRAM_BOT_TOKEN`, a part of each URL, so URLs are never logged. */
  token: string;
  /** Another server of the Bot API; null: Telegram's. */
  apiUrl: string | null;
  /** PEM file of the certificate authority of that server; null: a public one. */
  caFile?: string | null;
  /** Asks for updates, because Telegram cannot call us. */
  polls: boolean;
  publicUrl: string;
  signer: Signer;
}

const TELEGRAM_CALLBACK = '/callbacks/chats/telegram';

/** How long Telegram waits for an update before it answers that there is none. */
const POLL_SECONDS = 25;
const POLL_TIMEOUT_MS = 40_000;
/** The response has a limit. */
const UPDATES_AT_ONCE = 10;
/** An update that always fails keeps others waiting for so many attempts. */
const MAX_TRIES = 3;
const CONFLICT = 'another program asks for the updates of this bot, or has set its webhook';

const ALLOWED_UPDATES = ['message', 'callback_query', 'my_chat_member'];

/** https://core.telegram.org/bots/api#making-requests */
const Answer = z.union([
  z.object({ ok: z.literal(true), result: z.unknown() }),
  z.object({
    ok: z.literal(false),
    error_code: z.int(),
    description: z.string().default(''),
    parameters: z
      .object({ retry_after: z.number().optional(), migrate_to_chat_id: z.int().optional() })
      .optional(),
  }),
]);
type Answer = z.infer<typeof Answer>;

const Sent = z.object({ message_id: z.int() });
const Bot = z.object({ username: z.string() });
const WebhookInfo = z.object({ url: z.string() });

const Updates = firstOf(z.looseObject({ update_id: z.int() }), UPDATES_AT_ONCE);

const ChatId = z.object({ id: z.int(), type: z.string() });
const User = z.object({ id: z.int(), is_bot: z.boolean().default(false) });
const Keyboard = z.object({
  inline_keyboard: firstOf(firstOf(z.object({ callback_data: z.string().optional() }), 1), 1),
});
/**
 * https://core.telegram.org/bots/api#update. What cannot be read is of no interest: Telegram repeats an update that is refused, and the others
 * wait.
 */
const Update = z.object({
  message: readable(
    z.object({
      message_id: z.int(),
      chat: ChatId,
      // Absent in channels.
      from: User.optional(),
      // For whom somebody speaks who stays anonymous.
      sender_chat: z.object({ id: z.int() }).optional(),
      text: z.string().optional(),
      migrate_to_chat_id: z.int().optional(),
      reply_to_message: z
        .object({ message_id: z.int(), from: User.optional(), reply_markup: Keyboard.optional() })
        .optional(),
    }),
  ),
  callback_query: readable(
    z.object({
      id: z.string(),
      from: User,
      message: z.object({ message_id: z.int(), chat: ChatId }).optional(),
      data: z.string().optional(),
    }),
  ),
  my_chat_member: readable(z.object({ chat: ChatId, new_chat_member: z.object({ status: z.string() }) })),
});

/** A bot of Telegram, by the Bot API (https://core.telegram.org/bots/api). */
export function createTelegram({
  token,
  apiUrl,
  caFile = null,
  polls,
  publicUrl,
  signer,
}: TelegramOptions): ChatProvider {
  const post = chatPoster(caFile);
  const base = (apiUrl ?? 'https://api.telegram.org').replace(/\/$/, '');
  const [botId = ''] = token.split(':');
  const secret = signer.sign('telegram-webhook', [botId]);
  // Names the secret, so that the webhook is set again when the keys have changed.
  const fingerprint = createHash('sha256').update(secret).digest('hex').slice(0, 8);
  const webhookUrl = `${publicUrl}${TELEGRAM_CALLBACK}?key=${fingerprint}`;
  let bot: Promise<string> | null = null;
  let isWithoutWebhook = false;
  let hasConflict = false;
  let next = { offset: 0, tries: 0 };

  /** @throws ChatUnavailable */
  async function call(method: string, parameters: object, signal?: AbortSignal): Promise<Answer> {
    const response = await post(`${base}/bot${token}/${method}`, {}, parameters, signal);
    const answer = Answer.safeParse(tryParseUntrustedJson(await response.text()));
    if (!answer.success) throw new ChatUnavailable(`it responded ${response.status}, not in its own form`);
    return answer.data;
  }

  /** @throws ChatUnavailable */
  async function ask<T>(method: string, result: z.ZodType<T>, parameters: object = {}): Promise<T> {
    const answer = await call(method, parameters);
    if (!answer.ok) throw new ChatUnavailable(`${method}: ${answer.error_code} ${answer.description}`);
    return result.parse(answer.result);
  }

  const deliver = (method: string, messageId: string | null, parameters: object): Promise<ChatOutcome> =>
    unlessUnavailable(call(method, parameters).then((answer) => outcomeOf(answer, messageId)));

  /** https://core.telegram.org/bots/api#getupdates */
  async function poll(
    handle: (event: ChatEvent) => Promise<string | null>,
    stopped: AbortSignal,
  ): Promise<void> {
    // One that the installation had before keeps the updates from us.
    if (!isWithoutWebhook) await ask('deleteWebhook', z.literal(true));
    isWithoutWebhook = true;
    const wanted = { offset: next.offset, timeout: POLL_SECONDS, limit: UPDATES_AT_ONCE };
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(POLL_TIMEOUT_MS)]);
    const answer = await call('getUpdates', { ...wanted, allowed_updates: ALLOWED_UPDATES }, signal);
    hasConflict = !answer.ok && answer.error_code === 409;
    if (hasConflict) throw new ChatUnavailable(CONFLICT);
    if (!answer.ok) throw new ChatUnavailable(`getUpdates: ${answer.error_code} ${answer.description}`);
    for (const update of Updates.parse(answer.result)) {
      // The next request confirms those before its offset.
      const confirmed = { offset: update.update_id + 1, tries: 0 };
      const read = Update.safeParse(update);
      const event = read.success ? eventOf(read.data, Number(botId)) : null;
      try {
        const text = event && (await handle(event));
        if (event && text !== null) await tell(event, text);
      } catch (error) {
        const tries = next.tries + 1;
        next = tries < MAX_TRIES ? { offset: update.update_id, tries } : confirmed;
        throw error;
      }
      next = confirmed;
    }
  }

  /** What was decided counts, whether or not the person hears of it. */
  async function tell(event: ChatEvent, text: string): Promise<void> {
    const { method, ...parameters } = answerOf(event, text);
    if (method === undefined) return;
    await call(method, parameters).catch((error: unknown) => {
      if (!(error instanceof ChatUnavailable)) throw error;
    });
  }

  const edit: ChatProvider['edit'] = (chatId, messageId, card) =>
    deliver('editMessageText', messageId, {
      chat_id: chatId,
      message_id: Number(messageId),
      ...contentOf(card),
    });

  return {
    name: 'telegram',
    title: 'Telegram',

    async linkUrl(code, scope) {
      bot ??= ask('getMe', Bot).then(({ username }) => username);
      const name = await bot.catch((error: unknown) => {
        bot = null;
        throw error;
      });
      return `https://t.me/${name}?${scope === 'member' ? 'start' : 'startgroup'}=${code}`;
    },

    send: (chatId, card) => deliver('sendMessage', null, { chat_id: chatId, ...contentOf(card) }),
    edit,

    async remove(chatId, messageId, card) {
      const parameters = { chat_id: chatId, message_id: Number(messageId) };
      const deleted = await deliver('deleteMessage', messageId, parameters);
      // It deletes messages of the last 48 hours.
      return deleted.kind === 'refused' ? edit(chatId, messageId, card) : deleted;
    },

    read({ body, header }: ChatRequest): ChatEvent | null {
      const given = header('x-telegram-bot-api-secret-token');
      if (!signer.verify('telegram-webhook', [botId], given)) throw new BadChatSignature();
      const update = Update.safeParse(tryParseUntrustedJson(body));
      if (!update.success) throw new UnreadableChatRequest();
      return eventOf(update.data, Number(botId));
    },

    /** Telegram carries out one method that the response to an update names. */
    answer: async (event, text) => answerOf(event, text),

    poll: polls ? poll : null,

    async check() {
      if (polls) {
        await ask('getMe', Bot);
        if (hasConflict) throw new ChatUnavailable(CONFLICT);
        return;
      }
      const { url } = await ask('getWebhookInfo', WebhookInfo);
      if (url === webhookUrl) return;
      const webhook = { url: webhookUrl, secret_token: secret, allowed_updates: ALLOWED_UPDATES };
      await ask('setWebhook', z.literal(true), webhook);
    },
  };
}

function answerOf(event: ChatEvent, text: string): { method?: string } & Record<string, unknown> {
  if (event.kind === 'press')
    return { method: 'answerCallbackQuery', callback_query_id: event.pressId, text, show_alert: false };
  if (event.kind === 'code') return { method: 'sendMessage', chat_id: event.chatId, text };
  if (event.kind !== 'text') return {};
  const reply = { message_id: Number(event.ownId), allow_sending_without_reply: true };
  return { method: 'sendMessage', chat_id: event.chatId, text, reply_parameters: reply };
}

const contentOf = ({ paragraphs, buttons }: Card) => ({
  text: paragraphs.join('\n\n'),
  link_preview_options: { is_disabled: true },
  reply_markup: {
    inline_keyboard:
      buttons.length === 0 ? [] : [buttons.map(({ label, data }) => ({ text: label, callback_data: data }))],
  },
});

function outcomeOf(answer: Answer, messageId: string | null): ChatOutcome {
  if (answer.ok) {
    const sent = Sent.safeParse(answer.result);
    const id = messageId ?? (sent.success ? String(sent.data.message_id) : null);
    return id === null
      ? { kind: 'refused', reason: 'the response names no message' }
      : { kind: 'done', messageId: id };
  }
  const { error_code: code, description, parameters } = answer;
  const reason = `${code} ${description}`.trim();
  if (code === 429)
    return { kind: 'later', retryAfterMs: boundedRetryMs((parameters?.retry_after ?? 1) * 1000), reason };
  // A token that is refused is the operator's to mend.
  if (code >= 500 || code === 401) return { kind: 'later', retryAfterMs: null, reason };
  if (parameters?.migrate_to_chat_id !== undefined)
    return { kind: 'moved', to: String(parameters.migrate_to_chat_id) };
  if (code === 403 || /chat not found|upgraded to a supergroup/i.test(description))
    return { kind: 'gone', reason };
  if (messageId !== null && /message is not modified/i.test(description)) return { kind: 'done', messageId };
  return { kind: 'refused', reason };
}

function eventOf(
  { message, callback_query: press, my_chat_member: member }: z.infer<typeof Update>,
  botId: number,
): ChatEvent | null {
  if (press?.message && press.data !== undefined)
    return {
      kind: 'press',
      chatId: String(press.message.chat.id),
      userId: String(press.from.id),
      messageId: String(press.message.message_id),
      data: press.data,
      pressId: press.id,
    };
  if (member && ['kicked', 'left'].includes(member.new_chat_member.status))
    return { kind: 'blocked', chatId: String(member.chat.id) };
  // A group became a supergroup.
  if (message?.migrate_to_chat_id !== undefined)
    return { kind: 'moved', chatId: String(message.chat.id), to: String(message.migrate_to_chat_id) };
  if (!message?.from) return null;
  // Whoever speaks for a group or a channel has an account that all who do so share.
  const isSomebody = message.sender_chat === undefined && !message.from.is_bot;
  const place = {
    chatId: String(message.chat.id),
    userId: isSomebody ? String(message.from.id) : null,
  };
  // In groups the command names the bot: `/start@LinepaceBot CODE`.
  const [, code = ''] = /^\/start(?:@\w+)?\s+(\S+)\s*$/.exec(message.text ?? '') ?? [];
  if (isSecretToken(code))
    return { kind: 'code', ...place, code, isPrivate: message.chat.type === 'private' };
  const answered = message.reply_to_message;
  if (answered?.from?.id !== botId) return null;
  return {
    kind: 'text',
    ...place,
    messageId: String(answered.message_id),
    data: answered.reply_markup?.inline_keyboard[0]?.[0]?.callback_data ?? null,
    ownId: String(message.message_id),
    text: message.text ?? null,
  };
}
