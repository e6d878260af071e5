import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { newSecretToken } from '#domain/base/secret-token.ts';
import { startTelegram, type TelegramStandIn } from '#simulator/telegram.ts';
import { createSigner } from '../signer.ts';
import type { ChatEvent, ChatProvider } from './chat.ts';
import { createTelegram } from './telegram.ts';

let telegram: TelegramStandIn;
let provider: ChatProvider;
beforeEach(async () => {
  telegram = await startTelegram();
  provider = polling();
});
afterEach(() => telegram.stop());

const polling = (): ChatProvider =>
  createTelegram({
    token: telegram.token,
    apiUrl: telegram.url,
    polls: true,
    publicUrl: 'http://localhost:3000',
    signer: createSigner(`k:${Buffer.alloc(32, 1).toString('base64')}`),
  });
const NEVER = new AbortController().signal;

/** Handles what happens until so many events have come. */
async function events(count: number, answer: string | null = null): Promise<ChatEvent[]> {
  const seen: ChatEvent[] = [];
  while (seen.length < count)
    await provider.poll?.(async (event) => {
      seen.push(event);
      return answer;
    }, NEVER);
  return seen;
}

test('an update in another form is accepted and ignored, because Telegram would repeat it', () => {
  const signer = createSigner(`k:${Buffer.alloc(32, 1).toString('base64')}`);
  const secret = signer.sign('telegram-webhook', [telegram.token.split(':')[0] ?? '']);
  for (const update of [
    { message: { text: 'Hi' } },
    { callback_query: { id: 1 } },
    { my_chat_member: null },
  ]) {
    const body = JSON.stringify({ update_id: 1, ...update });
    expect(provider.read({ body, header: () => secret })).toBeNull();
  }
});

test('nobody is known by the account that anonymous admins of all groups share', () => {
  const signer = createSigner(`k:${Buffer.alloc(32, 1).toString('base64')}`);
  const secret = signer.sign('telegram-webhook', [telegram.token.split(':')[0] ?? '']);
  const chat = { id: -100, type: 'supergroup' };
  const message = {
    message_id: 1,
    chat,
    from: { id: 1_087_968_824, is_bot: true },
    sender_chat: chat,
    reply_to_message: { message_id: 2, from: { id: Number(telegram.token.split(':')[0]) } },
  };
  const read = (text: string) =>
    provider.read({
      body: JSON.stringify({ update_id: 1, message: { ...message, text } }),
      header: () => secret,
    });
  expect(read('As I say it')).toMatchObject({ kind: 'text', userId: null });
  expect(read(`/start ${newSecretToken()}`)).toMatchObject({ kind: 'code', userId: null });
});

describe('a bot that Telegram cannot call', () => {
  it('asks for what happens, and answers by itself', async () => {
    const person = telegram.person();
    const code = newSecretToken();
    await person.start(code);
    expect(await events(1, 'Linked')).toMatchObject([
      { kind: 'code', code, isPrivate: true, chatId: String(person.id), userId: String(person.id) },
    ]);
    expect(telegram.messages).toMatchObject([{ chatId: person.id, text: 'Linked' }]);
    const card = {
      paragraphs: ['A draft'],
      buttons: [{ label: 'Approve', action: 'approve' as const, data: 'a' }],
    };
    await provider.send(String(person.id), card);
    const [, sent] = telegram.messages;
    if (!sent) throw new Error('there is no message');
    await person.press(sent, 'Approve');
    await person.reply(sent, 'As I say it');
    expect(await events(2, 'Done')).toMatchObject([
      { kind: 'press', data: 'a' },
      { kind: 'text', text: 'As I say it' },
    ]);
    expect(telegram.answers).toEqual(['Done']);
    expect(telegram.messages.at(-1)).toMatchObject({ text: 'Done' });
  });

  it('takes the place of its webhook', async () => {
    telegram.webhook = { url: 'https://old.example', secretToken: 'old' };
    const seen = events(1);
    await expect.poll(() => telegram.webhook).toBeNull();
    await telegram.person().start(newSecretToken());
    expect(await seen).toHaveLength(1);
  });

  it('gets again what it could not handle, but not forever', async () => {
    await telegram.person().start(newSecretToken());
    const code = newSecretToken();
    let failures = 0;
    const fail = async (): Promise<never> => {
      failures += 1;
      throw new Error('the database is down');
    };
    await telegram.person().start(code);
    for (let tries = 0; tries < 3; tries += 1)
      await expect(provider.poll?.(fail, NEVER)).rejects.toThrow('database');
    expect(failures).toBe(3);
    expect(await events(1)).toMatchObject([{ kind: 'code', code }]);
  });

  it('says that another program asks as well', async () => {
    const first = provider.poll?.(async () => null, NEVER);
    await expect.poll(() => telegram.calls.some(({ method }) => method === 'deleteWebhook')).toBe(true);
    const second = polling();
    const stopping = new AbortController();
    const other = second.poll?.(async () => null, stopping.signal).catch(() => 'stopped');
    await expect(first).rejects.toThrow('another program asks for the updates');
    await expect(provider.check()).rejects.toThrow('another program');
    stopping.abort();
    expect(await other).toBe('stopped');
  });
});
