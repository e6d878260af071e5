import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { growth, LINEAR } from '#test/support/growth.ts';
import { realTime } from '#domain/base/clock.ts';
import { newSecretToken } from '#domain/base/secret-token.ts';
import { startTlsProxy } from '#test/support/tls-proxy.ts';
import { BadChatSignature, ChatUnavailable, UnreadableChatRequest } from './chat.ts';
import { createSlack } from './slack.ts';

const TLS = join(import.meta.dirname, '../../test/fixtures/tls');
const SECRET = '8f742231b10e8888abcd99yyyzzz85a5';
const slack = createSlack({ token: 'xoxb-1', signingSecret: SECRET, apiUrl: null });

const sign = (body: string, sentAt: number): string =>
  `v0=${createHmac('sha256', SECRET).update(`v0:${sentAt}:${body}`).digest('hex')}`;

function requestOf(
  body: string,
  { ageSeconds = 0, signature }: { ageSeconds?: number; signature?: string } = {},
) {
  const sentAt = Math.floor(realTime().getTime() / 1000) - ageSeconds;
  const headers: Record<string, string> = {
    'x-slack-request-timestamp': String(sentAt),
    'x-slack-signature': signature ?? sign(body, sentAt),
  };
  return { body, header: (name: string) => headers[name] ?? '' };
}
const authorizations = [{ user_id: 'UBOT', is_bot: true }];
const eventOf = (event: object) =>
  requestOf(JSON.stringify({ type: 'event_callback', event, authorizations }));
const message = { type: 'message', channel: 'D1', channel_type: 'im', user: 'U1', ts: '2.0' };

test('Slack is reached at a server with a certificate of an authority of its own', async () => {
  const server = createServer((_request, response) => void response.end('{"ok":true,"user_id":"U1"}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy = await startTlsProxy(TLS);
  onTestFinished(async () => {
    await proxy.close();
    server.close();
  });
  proxy.to((server.address() as AddressInfo).port);
  const at = { token: 'xoxb-1', signingSecret: SECRET, apiUrl: `https://localhost:${proxy.port}` };
  await expect(createSlack(at).check()).rejects.toThrow(ChatUnavailable);
  await createSlack({ ...at, caFile: join(TLS, 'authority.pem') }).check();
});

describe('a request of Slack', () => {
  it('is believed by its signature and time only', () => {
    const body = JSON.stringify({ type: 'url_verification', challenge: 'abc' });
    expect(slack.read(requestOf(body))).toEqual({ kind: 'challenge', body: { challenge: 'abc' } });
    for (const options of [
      { ageSeconds: 301 },
      { ageSeconds: -301 },
      { signature: '' },
      { signature: sign(body, 1) },
    ])
      expect(() => slack.read(requestOf(body, options))).toThrow(BadChatSignature);
    expect(() => slack.read({ body, header: () => '' })).toThrow(BadChatSignature);
    expect(() => slack.read(requestOf('payload=no'))).toThrow(UnreadableChatRequest);
  });

  it('links a chat by a code that somebody writes', () => {
    const code = newSecretToken();
    const place = { kind: 'code', chatId: 'D1', userId: 'U1', code };
    expect(slack.read(eventOf({ ...message, text: ` ${code}\n` }))).toEqual({ ...place, isPrivate: true });
    const inChannel = { ...message, channel_type: 'channel', text: `<@U9> ${code}` };
    expect(slack.read(eventOf(inChannel))).toEqual({ ...place, isPrivate: false });
  });

  it('is a text if it answers a message, as the person wrote it, and nothing if the bot wrote it', () => {
    const thread = { thread_ts: '1.0', parent_user_id: 'UBOT' };
    const answer = { ...message, ...thread, text: 'R&amp;D: <https://a.test|a.test> &lt;3' };
    expect(slack.read(eventOf(answer))).toEqual({
      kind: 'text',
      chatId: 'D1',
      userId: 'U1',
      messageId: '1.0',
      data: null,
      ownId: '2.0',
      text: 'R&D: https://a.test <3',
    });
    // “Also send to the channel”
    expect(slack.read(eventOf({ ...answer, subtype: 'thread_broadcast' }))).toMatchObject({ kind: 'text' });
    expect(slack.read(eventOf({ ...answer, bot_id: 'B1' }))).toBeNull();
    expect(slack.read(eventOf({ ...message, text: 'Hello' }))).toBeNull();
    expect(slack.read(eventOf({ ...answer, parent_user_id: 'U2' }))).toBeNull();
    expect(slack.read(eventOf({ ...answer, subtype: 'message_changed' }))).toBeNull();
  });

  it.each([
    { type: 'app_rate_limited', team_id: 'T1', minute_rate_limited: 1_796_000_000 },
    { type: 'event_callback', event: { type: 'channel_rename', channel: { id: 'C1', name: 'x' } } },
    { type: 'event_callback', event: { ...message, text: null, bot_id: null }, authorizations: null },
  ])('is accepted if it says nothing to us: %j', (body) => {
    expect(slack.read(requestOf(JSON.stringify(body)))).toBeNull();
  });

  it('is a text though fields that are not needed are null', () => {
    const answer = {
      ...message,
      text: 'Yes',
      thread_ts: '1.0',
      parent_user_id: 'UBOT',
      bot_id: null,
      subtype: null,
    };
    expect(slack.read(eventOf(answer))).toMatchObject({ kind: 'text', text: 'Yes' });
  });

  it('is read in linear time', () => {
    const thread = { thread_ts: '1.0', parent_user_id: 'UBOT' };
    const asked = (size: number) => eventOf({ ...message, ...thread, text: '<'.repeat(size) });
    expect(growth(asked, slack.read, 4000)).toBeLessThan(LINEAR);
  });

  it('is a pressed button, of a message', () => {
    const payload = {
      type: 'block_actions',
      user: { id: 'U1' },
      container: { type: 'message', channel_id: 'C1', message_ts: '1.0' },
      actions: [{ action_id: 'approve', value: 'approve:x' }],
    };
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    expect(slack.read(requestOf(body))).toMatchObject({
      kind: 'press',
      chatId: 'C1',
      userId: 'U1',
      messageId: '1.0',
      data: 'approve:x',
    });
    const container = { type: 'view', view_id: 'V1' };
    const other = new URLSearchParams({ payload: JSON.stringify({ ...payload, container }) }).toString();
    expect(slack.read(requestOf(other))).toBeNull();
  });
});
