import { z } from 'zod';
import type { Channel } from '#domain/base/channel.ts';
import { listOf, readable } from '#domain/base/bounded-schema.ts';
import { normalizePhone } from '#domain/base/phone.ts';
import type { Effect } from '#domain/messages/effect.ts';
import type { ActionOutcome } from '#domain/messages/message-action.ts';
import type { Exchange } from '../../egress-exchange.ts';
import { timeLimit } from '../../time-limit.ts';
import { actionOutcomeOf, outcomeOfQuestion } from '../carrier-failure.ts';
import type { Carrier, OutboundAction, OutboundMessage, SendOutcome } from '../carrier.ts';
import { unanswered } from '../hosted-api.ts';
import { Explanation, foreignAnswer, isOk, readJson, readOk } from '../http-response.ts';
import { CLOCK_SKEW_MS, findListedAttempt } from '../listed-attempt.ts';
import { travelledBy } from '../travelled-by.ts';
import { failureOf, NOT_AVAILABLE, type LinqApi, type LinqConfig, reasonOf } from './api.ts';
import { chatWith, chatWithGroup } from './chats.ts';
import { Parts, reportsOf, textOf } from './message.ts';

const PREFERRED: Record<Channel, string> = { imessage: 'iMessage', sms: 'SMS', email: 'SMS' };

/** Linq has no `shooting_star`: such a message is sent without it. */
const EFFECTS: Partial<Record<Effect, { type: 'screen' | 'bubble'; name: string }>> = {
  slam: { type: 'bubble', name: 'slam' },
  loud: { type: 'bubble', name: 'loud' },
  gentle: { type: 'bubble', name: 'gentle' },
  invisible_ink: { type: 'bubble', name: 'invisible' },
  echo: { type: 'screen', name: 'echo' },
  spotlight: { type: 'screen', name: 'spotlight' },
  balloons: { type: 'screen', name: 'balloons' },
  confetti: { type: 'screen', name: 'confetti' },
  love: { type: 'screen', name: 'love' },
  lasers: { type: 'screen', name: 'lasers' },
  fireworks: { type: 'screen', name: 'fireworks' },
  celebration: { type: 'screen', name: 'celebration' },
};

const Sent = z.object({ id: z.string().min(1), service: readable(Explanation) });
const SendResponse = z.union([
  z.object({ chat: z.object({ id: z.string(), is_group: readable(z.boolean()), message: Sent }) }),
  z.object({ chat_id: z.string(), message: Sent }),
]);
const PAGE = 100;
const MAX_PAGES = 10;
const Messages = z.object({ messages: listOf(z.unknown(), PAGE), next_cursor: readable(z.string()) });
const Message = z.object({
  id: z.string().min(1),
  is_from_me: z.boolean(),
  delivery_status: readable(Explanation),
  service: readable(Explanation),
  created_at: readable(z.string()),
  parts: readable(Parts),
});
type Message = z.infer<typeof Message>;
const Available = z.object({ available: z.boolean() });

/** Sends messages, does something to them, and finds what became of them. */
export function createSending(
  api: LinqApi,
): Required<Pick<Carrier<LinqConfig>, 'send' | 'act' | 'reconcile' | 'checkAvailability'>> {
  /** The cards that numbers were given last, so that their pictures are not loaded again each time. */
  const given = new Map<string, string>();
  const reachOf = (config: LinqConfig, address: string): Promise<Exchange> =>
    api.call(config, '/v3/capability/check_imessage', { body: { address, from: config.fromNumber } });

  return {
    async send(config, message, signal) {
      const { group } = message;
      const chat = group ?? (await chatWith(api, config, message.to.address));
      if ('failure' in chat) return notSent(chat.failure);
      const { id: chatId } = chat;
      if ('isOptedOut' in chat && chat.isOptedOut) return OPTED_OUT;
      const recipients = group?.participants ?? [message.to.address];
      if (chatId === null && message.channel === 'imessage') {
        for (const recipient of recipients) {
          const reach = readOk(await reachOf(config, recipient), Available);
          if (reach?.available === false)
            return group ? { ...NO_IMESSAGE, reason: 'a participant has no iMessage' } : NO_IMESSAGE;
        }
      }
      const [path, body] =
        chatId === null
          ? ['/v3/chats', { from: config.fromNumber, to: recipients, message: contentOf(message) }]
          : [`/v3/chats/${encodeURIComponent(chatId)}/messages`, { message: contentOf(message) }];
      const limit = timeLimit(api.timeoutMs, signal);
      const request = { body, signal: limit };
      const outcome = sendOutcome(await api.send(config, path, request));
      // The idempotency key makes that safe, and shows what became of a response that was lost. Who has answered in the place of Linq would
      // again.
      return outcome.kind === 'unknown' && !outcome.ofLine && !limit.aborted
        ? keepUnknown(sendOutcome(await api.send(config, path, request)), outcome)
        : outcome;
    },

    async act(config, action, signal) {
      const request = await requestOf(api, config, action, given);
      if ('kind' in request) return request;
      const { path, method, body } = request;
      const response = await api.call(config, path, {
        method,
        ...(body !== undefined && { body }),
        signal: timeLimit(api.timeoutMs, signal),
      });
      return actionOutcome(response);
    },

    /** A conversation is read back to the attempt: messages show no idempotency keys, so it is found by its text. */
    async reconcile(config, attempt) {
      const { group } = attempt;
      const chat = await (group ? chatWithGroup(api, config, group) : chatWith(api, config, attempt.to));
      if ('failure' in chat) return { kind: 'unreachable', reason: reasonOf(chat.failure) };
      const since = attempt.startedAt.getTime() - CLOCK_SKEW_MS;
      const messages: Message[] = [];
      let cursor: string | null = '';
      for (let page = 0; chat.id !== null && page < MAX_PAGES && cursor !== null; page += 1) {
        const response: Exchange = await api.ask(
          config,
          `/v3/chats/${encodeURIComponent(chat.id)}/messages`,
          {
            limit: String(PAGE),
            ...(cursor !== '' && { cursor }),
          },
        );
        const list = readOk(response, Messages);
        if (!list) return { kind: 'unreachable', reason: reasonOf(response) };
        messages.push(...list.messages.flatMap((raw) => Message.safeParse(raw).data ?? []));
        cursor = list.next_cursor ?? null;
      }
      const recent = messages.filter(
        ({ is_from_me: isOurs, created_at: at }) => isOurs && !(Date.parse(at ?? '') < since),
      );
      const isComplete = chat.id === null || cursor === null;
      const now = api.now();
      const listedOf = (message: Message) => ({
        id: message.id,
        text: textOf(message.parts),
        reports: reportsOf(message, message.delivery_status ?? '', now),
      });
      const found = await findListedAttempt({ messages: recent, isComplete }, listedOf, attempt, now);
      return found.kind === 'accepted' && group && chat.id !== null ? { ...found, groupId: chat.id } : found;
    },

    async checkAvailability(config, address) {
      if (normalizePhone(address, 'US') === null)
        return { status: 'unavailable', reason: 'not a phone number' };
      const response = await reachOf(config, address);
      const reach = readOk(response, Available);
      if (!reach) return { status: 'error', reason: reasonOf(response) };
      return reach.available
        ? { status: 'available' }
        : { status: 'unavailable', reason: NO_IMESSAGE.reason };
    },
  };
}

/** Linq sends to such a chat, but tells its customers not to. */
const OPTED_OUT = {
  kind: 'refused',
  reason: 'the recipient has opted out at Linq, until they write START',
  optedOut: true,
} as const;
const NO_IMESSAGE = { kind: 'unavailable', reason: 'the number has no iMessage' } as const;

/** The outcome of a send that ended with its first question. */
function notSent(response: Exchange): SendOutcome {
  const outcome =
    unanswered(response, reasonOf(response)) ??
    (isOk(response) ? foreignAnswer(reasonOf(response)) : failureOf(response));
  return outcome.kind === 'unknown' ? { ...outcome, kind: 'transient' } : outcome;
}

/** A repeated request that fails proves nothing about the first one. */
const keepUnknown = (again: SendOutcome, first: SendOutcome): SendOutcome =>
  again.kind === 'accepted' ? again : first;

function contentOf(message: OutboundMessage): Record<string, unknown> {
  const effect = message.effect && EFFECTS[message.effect];
  return {
    parts: [
      ...(message.text === '' ? [] : [{ type: 'text', value: message.text }]),
      ...message.attachments.map(({ url }) => ({ type: 'media', url })),
    ],
    idempotency_key: message.attemptId,
    preferred_service: PREFERRED[message.channel],
    ...(message.replyTo !== undefined && { reply_to: { message_id: message.replyTo } }),
    ...(effect && { effect }),
  };
}

function sendOutcome(response: Exchange): SendOutcome {
  const lost = unanswered(response, reasonOf(response));
  if (lost) return lost;
  if (!isOk(response)) return failureOf(response);
  const taken = readJson(response, SendResponse);
  if (!taken) return foreignAnswer(reasonOf(response));
  const { id, service } = 'chat' in taken ? taken.chat.message : taken.message;
  const groupId = 'chat' in taken && taken.chat.is_group ? taken.chat.id : undefined;
  return {
    kind: 'accepted',
    carrierMessageId: id,
    ...travelledBy(service),
    ...(groupId !== undefined && { groupId }),
  };
}

interface ActionRequest {
  path: string;
  method: 'POST' | 'PATCH' | 'DELETE';
  body?: unknown;
}

async function requestOf(
  api: LinqApi,
  config: LinqConfig,
  { action, to, carrierMessageId }: OutboundAction,
  given: Map<string, string>,
): Promise<ActionRequest | ActionOutcome> {
  const message = `/v3/messages/${encodeURIComponent(carrierMessageId ?? '')}`;
  switch (action.kind) {
    case 'reaction': {
      const type = action.reaction === 'emoji' ? 'custom' : action.reaction;
      const operation = action.removed ? 'remove' : 'add';
      const emoji = action.emoji === undefined ? {} : { custom_emoji: action.emoji };
      return { path: `${message}/reactions`, method: 'POST', body: { operation, type, ...emoji } };
    }
    case 'edit':
      return { path: message, method: 'PATCH', body: { text: action.text } };
    case 'unsend':
      return { kind: 'refused', reason: 'Linq cannot take a message back' };
    case 'typing':
    case 'read':
    case 'contact_card': {
      const chat = await chatWith(api, config, to);
      if ('failure' in chat) return { kind: 'transient', reason: reasonOf(chat.failure) };
      if (chat.id === null) return { kind: 'refused', reason: 'there is no conversation yet' };
      const path = `/v3/chats/${encodeURIComponent(chat.id)}`;
      if (action.kind === 'read') return { path: `${path}/read`, method: 'POST' };
      if (action.kind === 'contact_card') {
        const refusal = await setCard(api, config, action, given);
        return refusal ?? { path: `${path}/share_contact_card`, method: 'POST' };
      }
      return { path: `${path}/typing`, method: action.on ? 'POST' : 'DELETE' };
    }
  }
}

const Card = z.object({ is_active: z.boolean(), phone_number: readable(z.string()) });
const Cards = z.object({ contact_cards: listOf(Card, PAGE) });

/** Gives the number the card. What it was given last is remembered, as Linq keeps pictures under addresses of its own. */
async function setCard(
  api: LinqApi,
  config: LinqConfig,
  { firstName, lastName, photoUrl }: Extract<OutboundAction['action'], { kind: 'contact_card' }>,
  given: Map<string, string>,
): Promise<ActionOutcome | null> {
  const number = { phone_number: config.fromNumber };
  const asked = await api.ask(config, '/v3/contact_card', number);
  const known = readOk(asked, Cards);
  if (!known) return outcomeOfQuestion(actionOutcome(asked), reasonOf(asked));
  const isKnown = known.contact_cards.some(
    ({ is_active: isActive, phone_number: phone }) => isActive && phone === config.fromNumber,
  );
  const card = {
    first_name: firstName,
    last_name: lastName,
    ...(photoUrl !== undefined && { image_url: photoUrl }),
  };
  const text = JSON.stringify(card);
  if (isKnown && given.get(config.fromNumber) === text) return null;
  const set = isKnown
    ? await api.ask(config, '/v3/contact_card', number, { method: 'PATCH', body: card })
    : await api.call(config, '/v3/contact_card', { body: { ...card, ...number } });
  const applied = readOk(set, Card);
  if (applied?.is_active) {
    given.set(config.fromNumber, text);
    return null;
  }
  return applied
    ? { kind: 'refused', reason: 'Linq could not set the card of the number' }
    : outcomeOfQuestion(actionOutcome(set), reasonOf(set));
}

function actionOutcome(response: Exchange): ActionOutcome {
  if (readJson(response, z.object({ error: z.object({ code: z.literal(NOT_AVAILABLE) }) })))
    return { kind: 'refused', reason: reasonOf(response) };
  const lost = unanswered(response, reasonOf(response));
  if (lost) return actionOutcomeOf(lost);
  if (!isOk(response)) return actionOutcomeOf(failureOf(response));
  return isOwnSuccess(response) ? { kind: 'accepted' } : actionOutcomeOf(foreignAnswer(reasonOf(response)));
}

/** Linq responds to actions with nothing or an object; a 2xx page is of somebody in front of it. */
const isOwnSuccess = (response: Exchange): boolean =>
  response.body.length === 0 || readJson(response, z.looseObject({})) !== null;
