import { IMESSAGE_CAPABILITIES } from '#domain/lines/capability.ts';
import { sanitizeEvents } from '#domain/lines/carrier-event.ts';
import type { Guard } from '../../egress-guard.ts';
import { checkSecret } from '../callback-secret.ts';
import { type Carrier, type FetchMedia, HTTP_PORTS } from '../carrier.ts';
import { readOk } from '../http-response.ts';
import { createActions } from './actions.ts';
import { BlueBubblesConfig, createBlueBubblesApi } from './api.ts';
import { eventsOf, readBlueBubblesEvent, readNewServer, readTyping } from './callback.ts';
import { BLUEBUBBLES_GUIDE, createConnection } from './connection.ts';
import { createInbox } from './inbox.ts';
import { BlueBubblesMessage, envelope, groupOf, isGroupMessage, isTapback } from './protocol.ts';
import { reconcile } from './reconcile.ts';
import { createSending } from './sending.ts';

export interface BlueBubblesCarrierOptions {
  /** Checks connections to servers whose addresses tenants set. */
  guard?: Guard;
  fetchMedia?: FetchMedia;
  timeoutMs?: number;
  /** The pause between two availability checks of a recipient. */
  recheckMs?: number;
  clock?: () => Date;
}

/** 1234 is the server's own default (https://docs.bluebubbles.app/server). */
const PORTS = [...HTTP_PORTS, 1234];

/** The server waits for Messages for up to 120 s before it responds. */
const TIMEOUT_MS = 130_000;
/** A callback waits for this question. */
const COMPLETE_TIMEOUT_MS = 3000;

/** iMessage and SMS through a Mac that runs the BlueBubbles server (REST API v1). */
export function blueBubblesCarrier(options: BlueBubblesCarrierOptions = {}): Carrier<BlueBubblesConfig> {
  const { guard, fetchMedia, timeoutMs = TIMEOUT_MS, recheckMs = 400, clock = () => new Date() } = options;
  const api = createBlueBubblesApi(guard);

  /** A webhook call does not say whether an inbound message was written by a person, nor who is in a group. */
  async function completed(
    config: BlueBubblesConfig,
    message: BlueBubblesMessage,
  ): Promise<BlueBubblesMessage> {
    const isUnnamed = groupOf(message)?.participants.length === 0;
    const isJudged = message.isFromMe || typeof message.isAutoReply === 'boolean';
    if (isTapback(message) || (isJudged && !isUnnamed)) return message;
    const fields = isUnnamed ? '?with=chats,chats.participants' : '';
    const path = `/message/${encodeURIComponent(message.guid.toWellFormed())}${fields}`;
    const asked = await api.call(config, path, { signal: AbortSignal.timeout(COMPLETE_TIMEOUT_MS) });
    const found = readOk(asked, envelope(BlueBubblesMessage.pick({ isAutoReply: true, chats: true })))?.data;
    const { chats } = message;
    return {
      ...message,
      isAutoReply: found?.isAutoReply ?? message.isAutoReply,
      chats: isUnnamed && found && isGroupMessage({ ...message, ...found }) ? found.chats : chats,
    };
  }

  return {
    name: 'bluebubbles',
    channels: ['imessage', 'sms'],
    capabilities(channel, { method }) {
      if (channel !== 'imessage') return ['attachments'];
      // AppleScript can only send.
      return method === 'private-api' ? IMESSAGE_CAPABILITIES : ['voice_notes', 'attachments'];
    },
    config: BlueBubblesConfig,
    callbackSecret: 'callbackSecret',
    servers: ({ url }) => ({ url: { url, ports: PORTS } }),
    timeoutMs,

    ...createSending(api, { fetchMedia, timeoutMs, recheckMs, clock }),
    ...createActions(api, timeoutMs),
    reconcile: (config, attempt) => reconcile(api, config, attempt, clock()),
    guide: BLUEBUBBLES_GUIDE,
    ...createConnection(api),
    ...createInbox(api, clock),

    checkCallback: ({ callbackSecret }, head) => checkSecret(callbackSecret, head),

    async parseCallback(config, callback) {
      checkSecret(config.callbackSecret, callback);
      const reported = readBlueBubblesEvent(callback.rawBody, clock());
      if (!reported) return sanitizeEvents(readTyping(callback.rawBody, clock()), clock());
      const message = await completed(config, reported.message);
      const now = clock();
      const { mayBeByHand } = reported;
      return sanitizeEvents(eventsOf(message, { baseUrl: config.url, mayBeByHand, now }), now);
    },

    movedTo(config, { rawBody }) {
      const url = readNewServer(rawBody);
      if (url === null || url === config.url.replace(/\/$/, '')) return null;
      // The password is not sent in clear because of a callback.
      if (config.url.startsWith('https:') && !url.startsWith('https:')) return null;
      return BlueBubblesConfig.safeParse({ ...config, url }).data ?? null;
    },

    /** The server may have moved since it announced the file. */
    async openMedia(config, address, signal, from = 0) {
      const [path] = /\/attachment\/[^/]+\/download$/.exec(new URL(address).pathname) ?? [];
      if (path === undefined) throw new Error("not one of this carrier's addresses");
      return api.download(config, path, signal, from);
    },

    close: api.close,
  };
}
