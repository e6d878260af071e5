import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { koaBody } from 'koa-body';
import { z } from 'zod';
import { serve } from './stand-in-server.ts';

/** How the next request for a chat is treated. */
export type TelegramFault =
  | { kind: 'too_many'; retryAfter: number }
  | { kind: 'gateway_error' }
  /** The request is carried out, and its response is lost. */
  | { kind: 'response_lost' };

export interface TelegramMessage {
  messageId: number;
  chatId: number;
  text: string;
  buttons: { text: string; data: string }[];
  /** How often it was edited. */
  edits: number;
  deleted: boolean;
}

/** A call of a method of the Bot API. */
export interface TelegramCall {
  method: string;
  chatId: number | null;
  status: number;
}

/** A person with a private chat, or a member of a group. */
export interface TelegramPerson {
  id: number;
  /** Opens the link of a bot, which sends its code. @returns what the bot answers. */
  start(code: string, chatId?: number): Promise<string | null>;
  /** Presses a button. @returns what the bot answers. */
  press(message: TelegramMessage, label: string): Promise<string | null>;
  reply(message: TelegramMessage, text: string): Promise<string | null>;
  block(): Promise<void>;
}

export interface TelegramStandIn {
  url: string;
  token: string;
  username: string;
  webhook: { url: string; secretToken: string } | null;
  /** All messages of the bot, in order. */
  messages: readonly TelegramMessage[];
  calls: readonly TelegramCall[];
  /** What was answered to presses of buttons without a webhook. */
  answers: readonly string[];
  /** The bot refuses to delete messages, as if they were older than 48 hours. */
  old: boolean;
  /** Whether the token is valid. */
  revoked: boolean;
  person(): TelegramPerson;
  /** A group with the bot. @returns its id. */
  group(): number;
  /** Makes a supergroup of a group. @param silently the bot is not told. @returns its new id. */
  upgrade(chatId: number, options?: { silently?: boolean }): Promise<number>;
  /** @param times how many requests have the fault. */
  fault(chatId: number, fault: TelegramFault, times?: number): void;
  /** Posts an update, with the secret of the webhook unless another is given. */
  post(update: object, secret?: string): Promise<Response>;
  stop(): Promise<void>;
}

const BOT = { id: 4242, is_bot: true, first_name: 'Linepace' };

const Button = z.strictObject({
  text: z.string().min(1),
  callback_data: z.string().refine((data) => data.length > 0 && Buffer.byteLength(data) <= 64),
});
const Content = z.object({
  chat_id: z.coerce.number().int(),
  text: z.string().min(1).max(4096),
  link_preview_options: z.object({ is_disabled: z.boolean() }).optional(),
  reply_markup: z.object({ inline_keyboard: z.array(z.array(Button)) }).optional(),
});
const Place = z.object({ chat_id: z.coerce.number().int(), message_id: z.int() });
const Webhook = z.object({
  url: z.url(),
  secret_token: z.string().regex(/^[\w-]{1,256}$/),
  allowed_updates: z.array(z.enum(['message', 'callback_query', 'my_chat_member'])),
});
const Wanted = z.object({
  offset: z.int(),
  limit: z.int().min(1).max(100),
  timeout: z.int().min(0).max(50),
  allowed_updates: Webhook.shape.allowed_updates,
});
const Answered = z.strictObject({
  callback_query_id: z.string(),
  text: z.string().max(200),
  show_alert: z.boolean(),
});
/** What the response to an update may name. */
const Named = z.union([
  z.strictObject({
    method: z.literal('answerCallbackQuery'),
    callback_query_id: z.string(),
    text: z.string().max(200),
    show_alert: z.boolean(),
  }),
  Content.extend({
    method: z.literal('sendMessage'),
    reply_parameters: z.object({ message_id: z.int(), allow_sending_without_reply: z.boolean() }).optional(),
  }),
  z.strictObject({}),
]);

/** Simulates the Bot API of Telegram, written from its documentation (core.telegram.org/bots/api). */
export async function startTelegram(): Promise<TelegramStandIn> {
  const token = `${BOT.id}:simulated-bot-token-0123456789`;
  const messages: TelegramMessage[] = [];
  const calls: TelegramCall[] = [];
  const answers: string[] = [];
  let updates: { update_id: number }[] = [];
  /** Whoever waits for updates. @param refused another request has taken its place. */
  let waiting: ((refused: boolean) => void) | null = null;
  const faults = new Map<number, { fault: TelegramFault; times: number }>();
  const blocked = new Set<number>();
  const known = new Set<number>();
  /** The supergroups that groups became. */
  const upgraded = new Map<number, number>();
  const pressed = new Set<string>();
  let lastId = 1000;
  let lastUpdate = 1;

  const standIn: TelegramStandIn = {
    url: '',
    token,
    username: 'LinepaceTestBot',
    webhook: null,
    messages,
    calls,
    answers,
    old: false,
    revoked: false,
    person,
    group() {
      lastId += 1;
      known.add(-lastId);
      return -lastId;
    },
    async upgrade(chatId, { silently = false } = {}) {
      lastId += 1;
      const to = -1_000_000_000_000 - lastId;
      known.delete(chatId);
      known.add(to);
      upgraded.set(chatId, to);
      const stamp = () => ({ message_id: (lastId += 1), from: BOT, date: Math.floor(Date.now() / 1000) });
      if (silently) return to;
      const old = { id: chatId, type: 'group' };
      await deliver({ message: { ...stamp(), chat: old, migrate_to_chat_id: to } });
      const current = { id: to, type: 'supergroup' };
      await deliver({ message: { ...stamp(), chat: current, migrate_from_chat_id: chatId } });
      return to;
    },
    fault: (chatId, fault, times = 1) => void faults.set(chatId, { fault, times }),
    async post(update, secret) {
      const { webhook } = standIn;
      if (!webhook) throw new Error('the bot has no webhook');
      return fetch(webhook.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-telegram-bot-api-secret-token': secret ?? webhook.secretToken,
        },
        body: JSON.stringify({ update_id: (lastUpdate += 1), ...update }),
      });
    },
    stop() {
      waiting?.(false);
      return server.stop();
    },
  };

  /** Delivers an update as Telegram does, and carries out what the response names. Without a webhook it waits for `getUpdates`. */
  async function deliver(update: object): Promise<string | null> {
    if (!standIn.webhook) {
      updates.push({ update_id: (lastUpdate += 1), ...update });
      waiting?.(false);
      return null;
    }
    const response = await standIn.post(update);
    if (response.status !== 200) throw new Error(`the webhook responded ${response.status}`);
    const named = Named.parse(await response.json());
    if (!('method' in named)) return null;
    if (named.method === 'answerCallbackQuery') {
      if (!pressed.delete(named.callback_query_id)) throw new Error('query is too old or its ID is invalid');
      return named.text;
    }
    if (blocked.has(named.chat_id)) throw new Error('the bot was blocked');
    return named.text;
  }

  function person(): TelegramPerson {
    lastId += 1;
    const id = lastId;
    const from = { id, is_bot: false, first_name: 'Ada' };
    const chatOf = (chatId: number) => ({ id: chatId, type: chatId < 0 ? 'supergroup' : 'private' });
    const stamp = () => ({ message_id: (lastId += 1), from, date: Math.floor(Date.now() / 1000) });
    const shown = ({ messageId, chatId, text, buttons }: TelegramMessage) => ({
      message_id: messageId,
      from: BOT,
      chat: chatOf(chatId),
      ...(buttons.length > 0 && {
        reply_markup: {
          inline_keyboard: [buttons.map(({ text: label, data }) => ({ text: label, callback_data: data }))],
        },
      }),
      date: Math.floor(Date.now() / 1000),
      text,
    });
    return {
      id,
      async start(code, chatId = id) {
        known.add(chatId);
        blocked.delete(chatId);
        const command = chatId < 0 ? `/start@${standIn.username} ${code}` : `/start ${code}`;
        return deliver({ message: { ...stamp(), chat: chatOf(chatId), text: command } });
      },
      async press(message, label) {
        const button = message.buttons.find(({ text }) => text === label);
        if (!button) throw new Error(`the message has no button ${label}: ${message.text}`);
        const query = `query-${(lastId += 1)}`;
        pressed.add(query);
        return deliver({
          callback_query: {
            id: query,
            from,
            message: shown(message),
            chat_instance: '1',
            data: button.data,
          },
        });
      },
      reply: (message, text) =>
        deliver({
          message: { ...stamp(), chat: chatOf(message.chatId), text, reply_to_message: shown(message) },
        }),
      async block() {
        blocked.add(id);
        const member = { user: BOT, status: 'kicked' };
        await deliver({
          my_chat_member: { chat: chatOf(id), from, date: 0, old_chat_member: {}, new_chat_member: member },
        });
      },
    };
  }

  const methods: Record<string, (parameters: unknown) => unknown> = {
    getMe: () => ({ ...BOT, username: standIn.username }),
    getWebhookInfo: () => ({
      url: standIn.webhook?.url ?? '',
      has_custom_certificate: false,
      pending_update_count: 0,
    }),
    setWebhook(parameters) {
      const { url, secret_token: secretToken } = Webhook.parse(parameters);
      standIn.webhook = { url, secretToken };
      return true;
    },
    deleteWebhook() {
      standIn.webhook = null;
      return true;
    },
    async getUpdates(parameters) {
      const { offset, limit, timeout } = Wanted.parse(parameters);
      if (standIn.webhook)
        throw new Conflict(
          "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
        );
      waiting?.(true);
      updates = updates.filter(({ update_id: id }) => id >= offset);
      if (updates.length === 0) {
        const refused = await new Promise<boolean>((resolve) => {
          const timer = setTimeout(() => resolve(false), timeout * 1000);
          waiting = (isRefused) => {
            clearTimeout(timer);
            waiting = null;
            resolve(isRefused);
          };
        });
        if (refused)
          throw new Conflict(
            'terminated by other getUpdates request; make sure that only one bot instance is running',
          );
      }
      return updates.slice(0, limit);
    },
    answerCallbackQuery(parameters) {
      const { callback_query_id: query, text } = Answered.parse(parameters);
      if (!pressed.delete(query))
        throw new BadRequest('query is too old and response timeout expired or query ID is invalid');
      answers.push(text);
      return true;
    },
    sendMessage(parameters) {
      const { chat_id: chatId, text, reply_markup: markup } = Content.parse(parameters);
      const message = {
        messageId: (lastId += 1),
        chatId,
        text,
        buttons: buttonsOf(markup),
        edits: 0,
        deleted: false,
      };
      messages.push(message);
      return { message_id: message.messageId, chat: { id: chatId }, date: 0, text };
    },
    editMessageText(parameters) {
      const { message_id: id } = Place.parse(parameters);
      const { chat_id: chatId, text, reply_markup: markup } = Content.parse(parameters);
      const message = find(chatId, id);
      if (!message) throw new BadRequest('message to edit not found');
      const buttons = buttonsOf(markup);
      if (message.text === text && JSON.stringify(message.buttons) === JSON.stringify(buttons))
        throw new BadRequest(
          'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message',
        );
      Object.assign(message, { text, buttons, edits: message.edits + 1 });
      return { message_id: id, chat: { id: chatId }, date: 0, text };
    },
    deleteMessage(parameters) {
      const { chat_id: chatId, message_id: id } = Place.parse(parameters);
      const message = find(chatId, id);
      if (!message) throw new BadRequest('message to delete not found');
      if (standIn.old) throw new BadRequest("message can't be deleted for everyone");
      message.deleted = true;
      return true;
    },
  };
  const find = (chatId: number, id: number) =>
    messages.find((one) => one.chatId === chatId && one.messageId === id && !one.deleted);

  const routes = new Router();
  routes.post('/bot:token/:method', async (context) => {
    const { token: given, method = '' } = context.params;
    const parameters: unknown = context.request.body;
    const chatId = z.object({ chat_id: z.coerce.number() }).safeParse(parameters).data?.chat_id ?? null;
    context.res.once('finish', () => calls.push({ method, chatId, status: context.status }));
    if (given !== token || standIn.revoked) return refuse(context, 401, 'Unauthorized');
    const carryOut = methods[method];
    if (!carryOut) return refuse(context, 404, 'Not Found');
    if (chatId !== null) {
      const to = upgraded.get(chatId);
      if (to !== undefined)
        return refuse(context, 400, 'Bad Request: group chat was upgraded to a supergroup chat', {
          migrate_to_chat_id: to,
        });
      if (!known.has(chatId)) return refuse(context, 400, 'Bad Request: chat not found');
      if (blocked.has(chatId)) return refuse(context, 403, 'Forbidden: bot was blocked by the user');
      const { fault, times } = faults.get(chatId) ?? { times: 0 };
      if (fault && times > 0) {
        faults.set(chatId, { fault, times: times - 1 });
        if (fault.kind === 'gateway_error') {
          context.status = 502;
          context.body = '<html>Bad Gateway</html>';
          return;
        }
        if (fault.kind === 'too_many') {
          const { retryAfter } = fault;
          refuse(context, 429, `Too Many Requests: retry after ${retryAfter}`, { retry_after: retryAfter });
          return;
        }
        carryOut(parameters);
        context.req.socket.destroy();
        return;
      }
    }
    context.body = { ok: true, result: await carryOut(parameters) };
  });

  const app = new Koa();
  app.use(async (context, next) => {
    try {
      await next();
    } catch (error) {
      if (error instanceof Conflict) return refuse(context, 409, `Conflict: ${error.message}`);
      if (error instanceof BadRequest) return refuse(context, 400, `Bad Request: ${error.message}`);
      if (!(error instanceof z.ZodError)) throw error;
      refuse(context, 400, `Bad Request: ${error.issues[0]?.path.join('.')} ${error.issues[0]?.message}`);
    }
  });
  app.use(koaBody());
  app.use(routes.routes());
  const server = await serve(app);
  standIn.url = server.url;
  return standIn;
}

class BadRequest extends Error {}

class Conflict extends Error {}

const buttonsOf = (markup: z.infer<typeof Content>['reply_markup']) =>
  (markup?.inline_keyboard ?? []).flat().map(({ text, callback_data: data }) => ({ text, data }));

function refuse(context: Context, code: number, description: string, parameters?: object): void {
  context.status = code;
  context.body = { ok: false, error_code: code, description, ...(parameters && { parameters }) };
}
