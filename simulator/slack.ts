import { createHmac } from 'node:crypto';
import Router from '@koa/router';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import { z } from 'zod';
import { refuseInvalid, serve } from './stand-in-server.ts';

export interface SlackMessage {
  ts: string;
  channel: string;
  text: string;
  buttons: { text: string; data: string }[];
  edits: number;
  deleted: boolean;
}

export interface SlackPerson {
  id: string;
  /** Writes a code, in the conversation with the app or in a channel. @returns what the app answers. */
  start(code: string, channel?: string): Promise<string | null>;
  press(message: SlackMessage, label: string): Promise<string | null>;
  /** Answers in the thread of a message. */
  reply(message: SlackMessage, text: string): Promise<string | null>;
}

export interface SlackStandIn {
  url: string;
  token: string;
  signingSecret: string;
  messages: readonly SlackMessage[];
  /** The errors of the next requests for a channel; a number is the `Retry-After` of a 429. */
  fault(channel: string, ...faults: (string | number)[]): void;
  person(): SlackPerson;
  channel(): string;
  /** Posts a request, signed unless told otherwise. */
  post(body: string, options?: { ageSeconds?: number; secret?: string }): Promise<Response>;
  stop(): Promise<void>;
}

const PlainText = z.object({ type: z.literal('plain_text'), text: z.string().min(1).max(3000) });
const Block = z.discriminatedUnion('type', [
  z.object({ type: z.literal('section'), text: PlainText }),
  z.object({
    type: z.literal('actions'),
    elements: z
      .array(
        z.object({
          type: z.literal('button'),
          action_id: z.string().min(1).max(255),
          text: PlainText,
          value: z.string().max(2000),
        }),
      )
      .min(1)
      .max(25),
  }),
]);
const Content = z.object({ text: z.string().min(1), blocks: z.array(Block).max(50).default([]) });

/** Simulates the Web API, the Events API and the interactions of Slack, written from their documentation (docs.slack.dev). */
export async function startSlack(callbackUrl: string): Promise<SlackStandIn> {
  const token = 'xoxb-simulated';
  const signingSecret = 'simulated-signing-secret';
  const messages: SlackMessage[] = [];
  /** What the app told somebody last, by channel. */
  const told = new Map<string, string>();
  const faults = new Map<string, (string | number)[]>();
  let last = 100;
  const next = (): string => `${Math.floor(Date.now() / 1000)}.${String((last += 1)).padStart(6, '0')}`;

  const standIn: SlackStandIn = {
    url: '',
    token,
    signingSecret,
    messages,
    fault: (channel, ...given) => void faults.set(channel, given),
    channel: () => `C${(last += 1)}`,
    person,
    async post(body, { ageSeconds = 0, secret = signingSecret } = {}) {
      const sentAt = Math.floor(Date.now() / 1000) - ageSeconds;
      const digest = createHmac('sha256', secret).update(`v0:${sentAt}:${body}`).digest('hex');
      return fetch(callbackUrl, {
        method: 'POST',
        headers: {
          'content-type': body.startsWith('{') ? 'application/json' : 'application/x-www-form-urlencoded',
          'x-slack-request-timestamp': String(sentAt),
          'x-slack-signature': `v0=${digest}`,
        },
        body,
      });
    },
    stop: () => server.stop(),
  };

  async function deliver(channel: string, body: string): Promise<string | null> {
    told.delete(channel);
    const response = await standIn.post(body);
    if (response.status !== 200) throw new Error(`the app responded ${response.status}`);
    return told.get(channel) ?? null;
  }

  function person(): SlackPerson {
    const id = `U${(last += 1)}`;
    const say = (channel: string, text: string, more: object = {}) => {
      const channelType = channel.startsWith('D') ? 'im' : 'channel';
      const event = {
        type: 'message',
        channel,
        channel_type: channelType,
        user: id,
        text,
        ts: next(),
        ...more,
      };
      const authorizations = [{ team_id: 'T1', user_id: 'UBOT', is_bot: true }];
      const callback = { type: 'event_callback', team_id: 'T1', event_id: next(), event, authorizations };
      return deliver(channel, JSON.stringify(callback));
    };
    return {
      id,
      start: (code, channel = `D${id}`) => say(channel, code),
      reply: ({ channel, ts }, text) => say(channel, text, { thread_ts: ts, parent_user_id: 'UBOT' }),
      async press({ channel, ts, buttons }, label) {
        const button = buttons.find(({ text }) => text === label);
        if (!button) throw new Error(`the message has no button ${label}`);
        const payload = {
          type: 'block_actions',
          user: { id },
          container: { type: 'message', channel_id: channel, message_ts: ts },
          actions: [{ type: 'button', action_id: label.toLowerCase(), value: button.data }],
        };
        return deliver(channel, new URLSearchParams({ payload: JSON.stringify(payload) }).toString());
      },
    };
  }

  const find = (channel: string, ts: string) =>
    messages.find((one) => one.channel === channel && one.ts === ts && !one.deleted);

  const methods: Record<string, (body: unknown) => object> = {
    'auth.test': () => ({ ok: true, team_id: 'T1', user_id: 'UBOT', bot_id: 'B1' }),
    'chat.postMessage'(body) {
      const { channel } = z.object({ channel: z.string(), thread_ts: z.string().optional() }).parse(body);
      const { text, blocks } = Content.parse(body);
      const ts = next();
      // Without blocks it is an answer to somebody.
      if (blocks.length === 0) told.set(channel, text);
      else messages.push({ ts, channel, ...shownOf(blocks), edits: 0, deleted: false });
      return { ok: true, channel, ts };
    },
    'chat.postEphemeral'(body) {
      const { channel, text } = z
        .object({ channel: z.string(), user: z.string(), text: z.string() })
        .parse(body);
      told.set(channel, text);
      return { ok: true, message_ts: next() };
    },
    'chat.update'(body) {
      const { channel, ts } = z.object({ channel: z.string(), ts: z.string() }).parse(body);
      const message = find(channel, ts);
      if (!message) return { ok: false, error: 'message_not_found' };
      Object.assign(message, shownOf(Content.parse(body).blocks), { edits: message.edits + 1 });
      return { ok: true, channel, ts };
    },
    'chat.delete'(body) {
      const { channel, ts } = z.object({ channel: z.string(), ts: z.string() }).parse(body);
      const message = find(channel, ts);
      if (!message) return { ok: false, error: 'message_not_found' };
      message.deleted = true;
      return { ok: true, channel, ts };
    },
  };

  const routes = new Router();
  routes.post('/:method', (context) => {
    if (context.get('authorization') !== `Bearer ${token}`)
      return void (context.body = { ok: false, error: 'invalid_auth' });
    const { channel = '' } = z.object({ channel: z.string().optional() }).parse(context.request.body ?? {});
    const fault = faults.get(channel)?.shift();
    if (typeof fault === 'number') {
      context.status = 429;
      context.set('retry-after', String(fault));
      context.body = { ok: false, error: 'ratelimited' };
      return;
    }
    if (fault !== undefined) return void (context.body = { ok: false, error: fault });
    const carryOut = methods[context.params['method'] ?? ''];
    context.body = carryOut ? carryOut(context.request.body) : { ok: false, error: 'unknown_method' };
  });

  const app = new Koa();
  app.use(
    refuseInvalid((context) => {
      context.body = { ok: false, error: 'invalid_arguments' };
    }),
  );
  app.use(koaBody());
  app.use(routes.routes());
  const server = await serve(app);
  standIn.url = server.url;
  return standIn;
}

function shownOf(blocks: z.infer<typeof Content>['blocks']): Pick<SlackMessage, 'text' | 'buttons'> {
  return {
    text: blocks.flatMap((block) => (block.type === 'section' ? [block.text.text] : [])).join('\n\n'),
    buttons: blocks.flatMap((block) =>
      block.type === 'actions'
        ? block.elements.map(({ text, value }) => ({ text: text.text, data: value }))
        : [],
    ),
  };
}
