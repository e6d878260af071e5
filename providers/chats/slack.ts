import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { realTime } from '#domain/base/clock.ts';
import { firstOf, readable } from '#domain/base/bounded-schema.ts';
import { retryAfterMs } from '#domain/base/retry-after.ts';
import { isSecretToken } from '#domain/base/secret-token.ts';
import { tryParseUntrustedJson } from '#domain/base/untrusted-json.ts';
import type { Card } from '#domain/drafts/chat.ts';
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

export interface SlackOptions {
  /** `SLACK_BOT_TOKEN` */
  token: string;
  /** `SLACK_SIGNING_SECRET` */
  signingSecret: string;
  /** Another server with the Web API; null: Slack's. */
  apiUrl: string | null;
  /** PEM file of the certificate authority of that server; null: a public one. */
  caFile?: string | null;
}

/** An older request may have been recorded and sent again (docs.slack.dev/authentication/verifying-requests-from-slack). */
const MAX_AGE_SECONDS = 300;
/** Without the header `Retry-After`. */
const RETRY_AFTER_MS = 30_000;

const Answer = z.object({
  ok: z.boolean(),
  error: z.string().optional(),
  ts: z.string().optional(),
  team_id: z.string().optional(),
  user_id: z.string().optional(),
});
type Answer = z.infer<typeof Answer> & { status: number; retryAfter: string | null };

/** In another form than expected, it says nothing. */
const Said = readable(z.string()).transform((said) => said ?? undefined);
const Message = z.object({
  type: z.string(),
  channel: Said,
  channel_type: Said,
  user: Said,
  text: Said,
  ts: Said,
  thread_ts: Said,
  parent_user_id: Said,
  bot_id: Said,
  subtype: Said,
});
const Event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('url_verification'), challenge: z.string() }),
  z.object({
    type: z.literal('event_callback'),
    event: Message,
    /** For whom Slack tells of it: our bot. */
    authorizations: readable(firstOf(z.object({ user_id: z.string() }), 1)),
  }),
]);
/** Such as `app_rate_limited`. Slack ends the subscription of an app that refuses too many. */
const Other = z.object({ type: z.string().regex(/^(?!(?:url_verification|event_callback)$)/) });
const Interaction = z.object({
  type: z.string(),
  user: z.object({ id: z.string() }),
  /** Of another form outside of messages. */
  container: readable(z.object({ channel_id: z.string(), message_ts: z.string() })),
  actions: firstOf(z.object({ value: z.string().optional() }), 1).default([]),
});

/** What people write. Others say what happened to a message, or in the channel. */
const WRITTEN: ReadonlySet<string | undefined> = new Set([undefined, 'file_share', 'thread_broadcast']);

/** Nothing reaches the conversation any more, for people. */
const GONE = new Map([
  ['channel_not_found', 'the channel was deleted, or the app is not in it'],
  ['channel_is_archived', 'the channel is archived'],
  ['is_archived', 'the channel is archived'],
  ['not_in_channel', 'the app is not in the channel'],
  ['user_disabled', 'the account was deactivated'],
]);
/** The credentials are the operator's to mend, and `check` tells of them; the others are faults of Slack. */
const LATER = new Set([
  'account_inactive',
  'fatal_error',
  'internal_error',
  'invalid_auth',
  'missing_scope',
  'not_authed',
  'request_timeout',
  'service_unavailable',
  'token_expired',
  'token_revoked',
]);

/** An app of Slack in one Slack workspace, made from deploy/slack-manifest.json. */
export function createSlack({ token, signingSecret, apiUrl, caFile = null }: SlackOptions): ChatProvider {
  const post = chatPoster(caFile);
  const base = (apiUrl ?? 'https://slack.com/api').replace(/\/$/, '');

  /** @throws ChatUnavailable */
  async function call(method: string, parameters: object): Promise<Answer> {
    const response = await post(
      `${base}/${method}`,
      { authorization: `Bearer ${token}`, 'content-type': 'application/json; charset=utf-8' },
      parameters,
    );
    const { status } = response;
    const retryAfter = response.headers.get('retry-after');
    if (status === 429) return { ok: false, error: 'ratelimited', status, retryAfter };
    const answer = Answer.safeParse(tryParseUntrustedJson(await response.text()));
    if (!answer.success) throw new ChatUnavailable(`it responded ${status}, not in its own form`);
    return { ...answer.data, status, retryAfter };
  }

  /** @throws ChatUnavailable */
  async function ask(method: string, parameters: object = {}): Promise<Answer> {
    const answer = await call(method, parameters);
    if (!answer.ok) throw new ChatUnavailable(`${method}: ${answer.error ?? answer.status}`);
    return answer;
  }

  const deliver = (method: string, messageId: string | null, parameters: object): Promise<ChatOutcome> =>
    unlessUnavailable(call(method, parameters).then((answer) => outcomeOf(answer, messageId)));

  const edit: ChatProvider['edit'] = (channel, ts, card) =>
    deliver('chat.update', ts, { channel, ts, ...contentOf(card) });

  /** @throws BadChatSignature */
  function verify({ body, header }: ChatRequest): void {
    const sentAt = header('x-slack-request-timestamp');
    const age = Math.abs(realTime().getTime() / 1000 - Number(sentAt));
    const digest = createHmac('sha256', signingSecret).update(`v0:${sentAt}:${body}`).digest('hex');
    const expected = Buffer.from(`v0=${digest}`);
    const given = Buffer.from(header('x-slack-signature'));
    const isSame = given.length === expected.length && timingSafeEqual(given, expected);
    if (!isSame || !(age <= MAX_AGE_SECONDS)) throw new BadChatSignature();
  }

  return {
    name: 'slack',
    title: 'Slack',

    /** Opens the conversation with the app. For a channel, the person invites the app and writes the code there. */
    async linkUrl() {
      const { team_id: team = '', user_id: user = '' } = await ask('auth.test');
      return `slack://user?team=${encodeURIComponent(team)}&id=${encodeURIComponent(user)}`;
    },

    send: (channel, card) =>
      deliver('chat.postMessage', null, {
        channel,
        ...contentOf(card),
        unfurl_links: false,
        unfurl_media: false,
      }),
    edit,

    async remove(channel, ts, card) {
      const deleted = await deliver('chat.delete', ts, { channel, ts });
      return deleted.kind === 'refused' ? edit(channel, ts, card) : deleted;
    },

    read(given) {
      verify(given);
      const form = given.body.startsWith('payload=') ? new URLSearchParams(given.body).get('payload') : null;
      if (form !== null) {
        const interaction = Interaction.safeParse(tryParseUntrustedJson(form));
        if (!interaction.success) throw new UnreadableChatRequest();
        return pressOf(interaction.data);
      }
      const body = tryParseUntrustedJson(given.body);
      if (Other.safeParse(body).success) return null;
      const event = Event.safeParse(body);
      if (!event.success) throw new UnreadableChatRequest();
      if (event.data.type === 'url_verification')
        return { kind: 'challenge', body: { challenge: event.data.challenge } };
      return messageOf(event.data.event, event.data.authorizations?.[0]?.user_id ?? null);
    },

    async answer(event, text) {
      if (event.kind !== 'code' && event.kind !== 'press' && event.kind !== 'text') return {};
      const { chatId: channel, userId: user } = event;
      if (event.kind === 'press') await ask('chat.postEphemeral', { channel, user, text: escaped(text) });
      else
        await ask('chat.postMessage', {
          channel,
          text: escaped(text),
          ...(event.kind === 'text' && { thread_ts: event.messageId }),
        });
      return {};
    },

    poll: null,

    async check() {
      await ask('auth.test');
    },
  };
}

function outcomeOf(
  { ok, error = '', ts, status, retryAfter }: Answer,
  messageId: string | null,
): ChatOutcome {
  if (ok) {
    const id = messageId ?? ts;
    return id === undefined
      ? { kind: 'refused', reason: 'the response names no message' }
      : { kind: 'done', messageId: id };
  }
  const reason = `${status} ${error}`.trim();
  if (error === 'ratelimited') {
    return { kind: 'later', retryAfterMs: retryAfterMs(retryAfter, realTime()) ?? RETRY_AFTER_MS, reason };
  }
  if (status >= 500 || LATER.has(error)) return { kind: 'later', retryAfterMs: null, reason };
  const gone = GONE.get(error);
  return gone === undefined ? { kind: 'refused', reason } : { kind: 'gone', reason: `${gone} (${error})` };
}

/** Blocks of plain text: nothing of a contact's words becomes a link or a mention. `text` is for notifications. */
const contentOf = ({ paragraphs, buttons }: Card) => ({
  text: escaped(paragraphs.join('\n\n')).slice(0, 3000),
  blocks: [
    ...paragraphs.map((text) => ({ type: 'section', text: { type: 'plain_text', text, emoji: false } })),
    ...(buttons.length === 0
      ? []
      : [
          {
            type: 'actions',
            elements: buttons.map(({ label, action, data }) => ({
              type: 'button',
              action_id: action,
              text: { type: 'plain_text', text: label },
              value: data,
            })),
          },
        ]),
  ],
});

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** As the person wrote it: links and numbers come marked. */
const unescaped = (text: string): string =>
  text
    .replaceAll(/<(?:mailto:|tel:)?([^|<>]+)(?:\|[^<>]*)?>/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

function pressOf({
  type,
  user,
  container,
  actions: [action],
}: z.infer<typeof Interaction>): ChatEvent | null {
  if (type !== 'block_actions' || !container || action?.value === undefined) return null;
  const { channel_id: chatId, message_ts: messageId } = container;
  return { kind: 'press', chatId, userId: user.id, messageId, data: action.value, pressId: messageId };
}

/** @param botId ours, in Slack. */
function messageOf(
  {
    type,
    channel,
    channel_type: channelType,
    user,
    text = '',
    ts,
    thread_ts: thread,
    parent_user_id: parent,
    bot_id: bot,
    subtype,
  }: z.infer<typeof Message>,
  botId: string | null,
): ChatEvent | null {
  if (type !== 'message' || bot !== undefined || channel === undefined || user === undefined) return null;
  if (ts === undefined || !WRITTEN.has(subtype)) return null;
  const place = { chatId: channel, userId: user };
  const code = text.trim().replace(/^<@\w+>\s*/, '');
  if (isSecretToken(code)) return { kind: 'code', ...place, code, isPrivate: channelType === 'im' };
  if (thread === undefined || thread === ts || botId === null || parent !== botId) return null;
  const own = unescaped(text);
  return {
    kind: 'text',
    ...place,
    messageId: thread,
    data: null,
    ownId: ts,
    text: own === '' ? null : own,
  };
}
