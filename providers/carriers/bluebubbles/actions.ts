import { z } from 'zod';
import type { ActionOutcome } from '#domain/messages/message-action.ts';
import type { Exchange } from '../../egress-exchange.ts';
import { timeLimit } from '../../time-limit.ts';
import type { Carrier } from '../carrier.ts';
import { outcomeOfQuestion } from '../carrier-failure.ts';
import { failureOfLine, isOk, readJson, readOk } from '../http-response.ts';
import { type BlueBubblesApi, type BlueBubblesConfig, reasonOf } from './api.ts';
import { isReaction, isUnsent } from './callback.ts';
import { clockSkew, readMessages } from './message-list.ts';
import {
  BlueBubblesMessage,
  chatGuid,
  envelope,
  ErrorResponse,
  isOwnError,
  isPrivateApiMissing,
  SuccessResponse,
  textOf,
} from './protocol.ts';

/** Reactions, edits and what else is done to a message or in a conversation. */
export function createActions(
  api: BlueBubblesApi,
  timeoutMs: number,
): Required<Pick<Carrier<BlueBubblesConfig>, 'act' | 'findAction'>> {
  const { call } = api;
  return {
    async act(config, { channel, to, group, carrierMessageId, action }, signal) {
      const limit = timeLimit(timeoutMs, signal);
      const guid = carrierMessageId ?? '';
      const path = `/message/${encodeURIComponent(guid)}`;
      const guidOfChat = group?.id ?? chatGuid(channel, to);
      const chat = `/chat/${encodeURIComponent(guidOfChat)}`;
      if (action.kind === 'typing') {
        const method = action.on ? 'POST' : 'DELETE';
        return actionOutcome(await call(config, `${chat}/typing`, { method, signal: limit }));
      }
      if (action.kind === 'read')
        return actionOutcome(await call(config, `${chat}/read`, { method: 'POST', signal: limit }));
      if (action.kind === 'contact_card') {
        // The server shares the card of the account, which it cannot change.
        const asked = await call(config, '/icloud/contact', { signal: limit });
        if (!readOk(asked, SuccessResponse)) return outcomeOfQuestion(actionOutcome(asked), reasonOf(asked));
        const { firstName, lastName } = action;
        const name = readOk(asked, envelope(z.object({ name: z.string() })))?.data.name;
        if (name?.trim() !== `${firstName} ${lastName}`.trim())
          return { kind: 'refused', reason: 'the account in Messages has another name' };
        return actionOutcome(await call(config, `${chat}/share/contact`, { method: 'POST', signal: limit }));
      }
      if (action.kind === 'reaction') {
        const reaction = `${action.removed ? '-' : ''}${action.reaction}`;
        const body = {
          chatGuid: guidOfChat,
          selectedMessageGuid: guid,
          reaction,
          partIndex: 0,
        };
        return actionOutcome(await call(config, '/message/react', { body, signal: limit }));
      }
      if (action.kind === 'unsend')
        return actionOutcome(await call(config, `${path}/unsend`, { body: { partIndex: 0 }, signal: limit }));
      const body = {
        editedMessage: action.text,
        // What phones show that know no edits.
        backwardsCompatibilityMessage: `Edited to “${action.text}”`,
        partIndex: 0,
      };
      return actionOutcome(await call(config, `${path}/edit`, { body, signal: limit }));
    },

    /** The message shows what was done to it, and the list our reactions. */
    async findAction(config, { carrierMessageId, action, startedAt }, signal) {
      const guid = carrierMessageId ?? '';
      if (action.kind === 'edit' || action.kind === 'unsend') {
        const asked = await call(config, `/message/${encodeURIComponent(guid)}`, { signal });
        const message = readOk(asked, envelope(BlueBubblesMessage))?.data;
        if (!message) return 'unknown';
        if (action.kind === 'unsend') return isUnsent(message) ? 'done' : 'unknown';
        return message.dateEdited && textOf(message) === textOf({ text: action.text }) ? 'done' : 'unknown';
      }
      if (action.kind !== 'reaction') return 'unknown';
      const after = startedAt.getTime() - (await clockSkew(api, config));
      const read = await readMessages(api, config, { after, sort: 'DESC' }, 1);
      if ('failure' in read) return 'unknown';
      return read.messages.some((message) => message.isFromMe && isReaction(message, guid, action))
        ? 'done'
        : 'unknown';
    },
  };
}

function actionOutcome(response: Exchange): ActionOutcome {
  const reason = reasonOf(response);
  if (!response.connected) return { kind: 'transient', reason };
  if (isOk(response))
    return readJson(response, SuccessResponse) ? { kind: 'accepted' } : { kind: 'unknown', reason };
  const isOwn = isOwnError(readJson(response, ErrorResponse));
  if (isOwn && isPrivateApiMissing(reason)) return { kind: 'transient', reason };
  const failed = response.error === null ? failureOfLine(response, isOwn, reason) : null;
  if (response.error !== null || failed?.kind === 'unknown') return { kind: 'unknown', reason };
  return { kind: failed?.kind === 'transient' ? 'transient' : 'refused', reason };
}
