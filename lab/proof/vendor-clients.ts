import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startLinq } from '../../simulator/linq.ts';
import { startSendblue } from '../../simulator/sendblue.ts';
import { startSlack } from '../../simulator/slack.ts';
import { startTelegram } from '../../simulator/telegram.ts';
import { startTelnyx } from '../../simulator/telnyx.ts';
import { type Check, provePart } from './world/part.ts';

/**
 * The vendors' public clients against our simulators, for the calls that our adapters make: `npm run prove -- vendor-clients`. The
 * clients are installed from npm for the run. Skipped if they cannot be.
 */
const CLIENTS = [
  'telnyx@7.24.0',
  '@linqapp/sdk@0.28.2',
  'sendblue@3.17.0',
  'grammy@1.46.0',
  '@slack/web-api@8.2.0',
];
const [LINE, CONTACT] = ['+14155550111', '+14155550123'];
const CALLBACK = 'http://127.0.0.1:9/callback';

interface Found {
  version: string;
  load(name: string): unknown;
}

// What the calls use of the clients, whose own types are not installed.
type Calls<Answers> = { [Name in keyof Answers]: (...given: unknown[]) => Promise<Answers[Name]> };
interface Id {
  id: string;
}

interface TelnyxPackage {
  Telnyx: new (options: object) => {
    messages: Calls<{ send: { data: Id }; retrieve: { data: Id } }>;
    messagingProfiles: Calls<{ list: { data: Id[] }; retrieve: { data: Id } }>;
    webhooks: Calls<{ unwrap: { data: { event_type: string } } }>;
  };
}

interface LinqPackage {
  default: new (options: object) => {
    chats: Calls<{
      create: { chat: Id & { message: Id } };
      retrieve: Id;
      listChats: { chats: Id[] };
      markAsRead: unknown;
      shareContactCard: unknown;
    }> & {
      messages: Calls<{ send: { message: Id }; list: { messages: Id[] } }>;
      typing: Calls<{ start: unknown; stop: unknown }>;
    };
    messages: Calls<{ addReaction: unknown }>;
    contactCard: Calls<{
      create: { is_active: boolean };
      update: { first_name: string };
      retrieve: { contact_cards: unknown[] };
    }>;
    capability: Calls<{ checkIMessage: { available: unknown } }>;
    phoneNumbers: Calls<{ list: { phone_numbers: { phone_number: string }[] } }>;
    webhookSubscriptions: Calls<{ create: Id; list: { subscriptions: Id[] } }>;
  };
}

interface SendbluePackage {
  default: new (options: object) => {
    messages: Calls<{ send: { message_handle: string }; list: { data: unknown[] } }>;
    lookups: Calls<{ lookupNumber: { service: string } }>;
    typingIndicators: Calls<{ send: unknown }>;
    webhooks: Calls<{ list: unknown }>;
  };
}

interface GrammyPackage {
  Api: new (
    token: string,
    options: object,
  ) => Calls<{
    getMe: { is_bot: unknown };
    sendMessage: { message_id: number };
    editMessageText: unknown;
    setWebhook: unknown;
  }>;
  InlineKeyboard: new () => { text(text: string, data: string): object };
}

interface SlackPackage {
  WebClient: new (
    token: string,
    options: object,
  ) => Calls<{ apiCall: { ts: string } }> & { auth: Calls<{ test: { ok: unknown } }> };
}

const folder = await mkdtemp(join(tmpdir(), 'linepace-clients-'));
async function find(): Promise<Found | string> {
  try {
    await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, ...CLIENTS]);
  } catch {
    return 'the clients cannot be installed';
  }
  return { version: CLIENTS.join(', '), load: createRequire(join(folder, 'index.js')) };
}

/** Whether calls succeed; a client throws if it does not understand the answer. */
async function each(check: Check, calls: Record<string, () => Promise<unknown>>): Promise<void> {
  for (const [title, call] of Object.entries(calls))
    await call().then(
      (seen) => check(title, seen !== undefined && seen !== false, seen),
      (error: unknown) => check(title, false, String(error)),
    );
}

async function telnyx({ load }: Found, check: Check): Promise<void> {
  const standIn = await startTelnyx('KEY1');
  const { Telnyx } = load('telnyx') as TelnyxPackage;
  const client = new Telnyx({
    apiKey: 'KEY1',
    publicKey: standIn.publicKey,
    baseURL: `${standIn.url}/v2`,
    maxRetries: 0,
  });
  const body = JSON.stringify({ data: { event_type: 'call.hangup', payload: {} } });
  await each(check, {
    'telnyx sends a message': async () => {
      const { data } = await client.messages.send({
        from: LINE,
        to: CONTACT,
        text: 'Hi',
        webhook_url: CALLBACK,
      });
      return typeof (await client.messages.retrieve(data.id)).data.id === 'string';
    },
    'telnyx lists messaging profiles': async () => (await client.messagingProfiles.list()).data.length === 1,
    'telnyx gets a messaging profile': async () =>
      (await client.messagingProfiles.retrieve('profile-1')).data.id === 'profile-1',
    'telnyx refuses an unknown sender': () =>
      client.messages.send({ from: '+14155550199', to: CONTACT, text: 'Hi' }).then(
        () => false,
        (error: { status?: number }) => error.status === 400,
      ),
    'telnyx verifies a webhook': async () =>
      (await client.webhooks.unwrap(body, { headers: standIn.sign(body), key: standIn.publicKey })).data
        .event_type === 'call.hangup',
  });
  await standIn.stop();
}

async function linq({ load }: Found, check: Check): Promise<void> {
  const standIn = await startLinq('token');
  const Linq = (load('@linqapp/sdk') as LinqPackage).default;
  const client = new Linq({ apiKey: 'token', baseURL: standIn.url, maxRetries: 0 });
  const message = { parts: [{ type: 'text', value: 'Hi' }] };
  let chat = '';
  let sent = '';
  await each(check, {
    '@linqapp/sdk creates a chat': async () => {
      const created = (await client.chats.create({ from: LINE, to: [CONTACT], message })).chat;
      [chat, sent] = [created.id, created.message.id];
      return typeof sent === 'string';
    },
    '@linqapp/sdk sends in it': async () =>
      typeof (await client.chats.messages.send(chat, { message })).message.id === 'string',
    '@linqapp/sdk gets it': async () => (await client.chats.retrieve(chat)).id === chat,
    '@linqapp/sdk lists chats': async () =>
      (await client.chats.listChats({ from: LINE, to: CONTACT })).chats.length === 1,
    '@linqapp/sdk lists messages': async () => (await client.chats.messages.list(chat)).messages.length === 2,
    '@linqapp/sdk reacts': async () =>
      (await client.messages.addReaction(sent, { operation: 'add', type: 'love' })) !== null,
    '@linqapp/sdk types': async () => {
      await client.chats.typing.start(chat);
      await client.chats.typing.stop(chat);
      return true;
    },
    '@linqapp/sdk marks as read': async () => (await client.chats.markAsRead(chat)) ?? true,
    '@linqapp/sdk sets a card and shares it': async () => {
      const card = { phone_number: LINE, first_name: 'Dana', last_name: 'Line' };
      const isSet = (await client.contactCard.create(card)).is_active;
      const { first_name: name } = await client.contactCard.update({ ...card, first_name: 'Ada' });
      const { contact_cards: cards } = await client.contactCard.retrieve({ phone_number: LINE });
      await client.chats.shareContactCard(chat);
      return isSet && name === 'Ada' && cards.length === 1;
    },
    '@linqapp/sdk asks for iMessage': async () =>
      (await client.capability.checkIMessage({ address: CONTACT })).available === true,
    '@linqapp/sdk lists numbers': async () =>
      (await client.phoneNumbers.list()).phone_numbers[0]?.phone_number === LINE,
    '@linqapp/sdk subscribes': async () => {
      const events = ['message.received'];
      const { id } = await client.webhookSubscriptions.create({
        target_url: CALLBACK,
        subscribed_events: events,
      });
      return (await client.webhookSubscriptions.list()).subscriptions.some((one) => one.id === id);
    },
  });
  await standIn.stop();
}

async function sendblue({ load }: Found, check: Check): Promise<void> {
  const standIn = await startSendblue({ id: 'id', secret: 'secret' });
  const Sendblue = (load('sendblue') as SendbluePackage).default;
  const client = new Sendblue({ apiKey: 'id', apiSecret: 'secret', baseURL: standIn.url, maxRetries: 0 });
  await each(check, {
    'sendblue sends a message': async () =>
      typeof (await client.messages.send({ content: 'Hi', from_number: LINE, number: CONTACT }))
        .message_handle === 'string',
    'sendblue lists messages': async () =>
      (await client.messages.list({ to_number: CONTACT, is_outbound: 'true' })).data.length === 1,
    'sendblue looks a number up': async () =>
      (await client.lookups.lookupNumber({ number: CONTACT })).service === 'iMessage',
    'sendblue types': async () =>
      (await client.typingIndicators.send({ from_number: LINE, number: CONTACT })) !== null,
    'sendblue lists webhooks': async () => (await client.webhooks.list()) !== null,
  });
  await standIn.stop();
}

async function telegram({ load }: Found, check: Check): Promise<void> {
  const standIn = await startTelegram();
  const { Api, InlineKeyboard } = load('grammy') as GrammyPackage;
  const api = new Api(standIn.token, { apiRoot: standIn.url });
  const chat = standIn.group();
  let sent = 0;
  await each(check, {
    'grammy asks who the bot is': async () => (await api.getMe()).is_bot === true,
    'grammy sends a message with buttons': async () => {
      const reply_markup = new InlineKeyboard().text('Approve', 'a');
      sent = (await api.sendMessage(chat, 'Hi', { reply_markup })).message_id;
      return sent > 0;
    },
    'grammy edits it': async () => (await api.editMessageText(chat, sent, 'Done')) !== undefined,
    'grammy sets the webhook': async () =>
      (await api.setWebhook('https://linepace.example/', {
        secret_token: 's',
        allowed_updates: ['message'],
      })) === true,
  });
  await standIn.stop();
}

async function slack({ load }: Found, check: Check): Promise<void> {
  const standIn = await startSlack(CALLBACK);
  const { WebClient } = load('@slack/web-api') as SlackPackage;
  const client = new WebClient(standIn.token, { slackApiUrl: `${standIn.url}/` });
  const channel = standIn.channel();
  await each(check, {
    '@slack/web-api asks who the bot is': async () => (await client.auth.test()).ok === true,
    '@slack/web-api sends a text': async () =>
      typeof (await client.apiCall('chat.postMessage', { channel, text: 'Hi' })).ts === 'string',
  });
  await standIn.stop();
}

await provePart<Found>({
  name: 'vendor-clients',
  find,
  async prove(found, check) {
    for (const vendor of [telnyx, linq, sendblue, telegram, slack]) await vendor(found, check);
  },
});
await rm(folder, { recursive: true, force: true });
