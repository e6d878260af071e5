import { z } from 'zod';
import { listOf, readable } from '#domain/base/bounded-schema.ts';
import type { InboundGroup } from '#domain/lines/carrier-event.ts';
import type { Exchange } from '../../egress-exchange.ts';
import type { CarrierGroup } from '../carrier.ts';
import { readOk } from '../http-response.ts';
import type { LinqApi, LinqConfig } from './api.ts';

const PAGE = 100;
const ChatHandle = z.object({ handle: z.string().min(1), is_me: readable(z.boolean()) });
/** A group with more participants is not read. */
const MAX_HANDLES = 500;
const Chat = z.object({
  id: z.string().min(1),
  is_group: z.boolean(),
  /** Of a group without a name, the handles of its participants. */
  display_name: readable(z.string()),
  handles: readable(listOf(ChatHandle, MAX_HANDLES)),
  /** `OPTED_OUT` from an opt-out keyword until the contact opts in, or the two write to each other again (docs.linqapp.com/guides/chats/chat-health). */
  health_status: readable(z.object({ status: readable(z.string()) })),
});
type Chat = z.infer<typeof Chat>;
const Chats = z.object({ chats: listOf(Chat, PAGE) });

export type FoundChat = { id: string | null; isOptedOut?: boolean } | { failure: Exchange };

/** The conversation with a contact; null: there is none yet. */
export async function chatWith({ ask }: LinqApi, config: LinqConfig, to: string): Promise<FoundChat> {
  const response = await ask(config, '/v3/chats', { from: config.fromNumber, to, limit: String(PAGE) });
  const list = readOk(response, Chats);
  if (!list) return { failure: response };
  const chat = list.chats.find(({ is_group: isGroup }) => !isGroup);
  return { id: chat?.id ?? null, isOptedOut: chat?.health_status?.status === 'OPTED_OUT' };
}

/** The conversation with a group that may have been created without our knowing; null: there is none. */
export async function chatWithGroup(
  { ask }: LinqApi,
  config: LinqConfig,
  { id, participants }: CarrierGroup,
): Promise<FoundChat> {
  if (id !== null) return { id };
  const response = await ask(config, '/v3/chats', {
    from: config.fromNumber,
    to: participants[0] ?? '',
    limit: String(PAGE),
  });
  const list = readOk(response, Chats);
  if (!list) return { failure: response };
  const people = new Set(participants);
  const found = list.chats.find((chat) => {
    const others = othersIn(chat, config);
    return chat.is_group && others.length === people.size && others.every((other) => people.has(other));
  });
  return { id: found?.id ?? null };
}

/** What a message to a group does not say: its name, and who is in it. */
export async function groupOf({ ask }: LinqApi, config: LinqConfig, id: string): Promise<InboundGroup> {
  const chat = readOk(await ask(config, `/v3/chats/${encodeURIComponent(id.toWellFormed())}`), Chat);
  if (!chat) return { id, participants: [] };
  const participants = othersIn(chat, config);
  const name = chat.display_name?.trim() ?? '';
  const isNamed = name !== '' && !name.split(/,\s*/).every((part) => participants.includes(part));
  return { id, participants, ...(isNamed && { name }) };
}

const MAX_CACHED = 10_000;
/** The contact of a chat never changes. By the account, because a workspace must not ask about the chats of another. */
const contacts = new Map<string, string>();

/** The contact with whom a chat is; null: it is a group, or cannot be read. */
export async function contactIn(api: LinqApi, config: LinqConfig, id: string): Promise<string | null> {
  const key = JSON.stringify([config.apiKey, config.fromNumber, id]);
  const known = contacts.get(key);
  if (known !== undefined) return known;
  const { participants } = await groupOf(api, config, id);
  const [contact] = participants;
  if (contact === undefined || participants.length > 1) return null;
  if (contacts.size >= MAX_CACHED) contacts.clear();
  contacts.set(key, contact);
  return contact;
}

/** The participants of a chat besides the line. */
const othersIn = ({ handles }: Chat, { fromNumber }: LinqConfig): string[] =>
  (handles ?? []).flatMap(({ handle, is_me: isMe }) => (isMe || handle === fromNumber ? [] : [handle]));
