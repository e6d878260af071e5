import { z } from 'zod';
import { listOf, readable } from '#domain/base/bounded-schema.ts';
import type { Exchange } from '../../egress-exchange.ts';
import { EVENTS, WANTED_EVENTS } from './callback.ts';
import { envelope } from './protocol.ts';
import { isOfLine, withSecret } from '../callback-secret.ts';
import type { Carrier, ConnectionCheck, ConnectionGuide } from '../carrier.ts';
import { failed, passed, serverCheck, unknown } from '../connection-checks.ts';
import { Explanation, isOk, readOk } from '../http-response.ts';
import { type BlueBubblesApi, type BlueBubblesConfig, reasonOf } from './api.ts';

export const BLUEBUBBLES_GUIDE: ConnectionGuide = {
  title: 'BlueBubbles',
  summary: 'iMessage and SMS through a Mac of yours.',
  before: [
    'On a Mac that stays awake, sign in to Messages with the account that is to write, and send one message by hand.',
    'Install the BlueBubbles Server (bluebubbles.app), grant it Full Disk Access and Accessibility, and set a server password.',
    'In its settings, under Connection, choose a proxy service or a name of your own, so that the server has an https address. It is shown as Server URL.',
  ],
  after: [
    'The server was told the callback URL; it is listed there under API & Webhooks.',
    'Keep the Mac awake: in its Energy settings, prevent automatic sleeping.',
  ],
};

/** Registers the callback URL at the server, and checks the settings of a line. */
export function createConnection({
  query,
}: BlueBubblesApi): Required<
  Pick<Carrier<BlueBubblesConfig>, 'configureInbound' | 'probe' | 'checkConnection'>
> {
  /** A webhook that is gone already is no failure, and one that stays costs only traffic. */
  async function remove(config: BlueBubblesConfig, path: string): Promise<void> {
    await query(config, path, { method: 'DELETE' });
  }

  return {
    async configureInbound(config, _lineId, callbackUrl) {
      const url = withSecret(callbackUrl, config.callbackSecret);
      const known = await query(config, '/webhook');
      const webhooks = readOk(known, Webhooks);
      if (!webhooks) throw new Error(reasonOf(known));
      const own = webhooks.data.filter((webhook) => isOfLine(webhook.url, callbackUrl));
      const former = own.filter((webhook) => !reportsTo(webhook, url, WANTED_EVENTS));
      // The server would keep the events of one with the same URL, and would post every event to each of the others.
      for (const { id } of former) if (id !== undefined) await remove(config, `/webhook/${id}`);
      if (former.length < own.length) return;
      const response = await query(config, '/webhook', { body: { url, events: WANTED_EVENTS } });
      if (!isOk(response)) throw new Error(reasonOf(response));
    },

    async probe(config) {
      const response = await query(config, '/ping');
      if (!isPong(response)) throw new Error(reasonOf(response));
      // What the server does not say is no failure: it may be busy, or older than the field.
      const checks = [...macChecks(await query(config, '/server/info'), config.method)];
      const failure = checks.find(({ result }) => result === 'fail');
      if (failure) throw new Error(failure.text);
    },

    async *checkConnection(config, { callbackUrl, reachCallbacks }) {
      const ping = await query(config, '/ping');
      yield serverCheck(new URL(config.url).host, ping, 'url');
      if (ping.error !== null) return;
      const password = passwordCheck(ping, reasonOf(ping));
      yield password;
      if (password.result !== 'pass') return;
      yield* macChecks(await query(config, '/server/info'), config.method);
      if (callbackUrl !== null)
        yield webhookCheck(await query(config, '/webhook'), withSecret(callbackUrl, config.callbackSecret));
      yield { name: 'callback_address', ...(await reachCallbacks()) };
    },
  };
}

const Pong = envelope(z.literal('pong'));

/** Whether `GET /ping` was answered by the server itself: a proxy in front of it also responds 200, with a page of its own. */
const isPong = (response: Exchange): boolean => readOk(response, Pong) !== null;

function passwordCheck(response: Exchange, reason: string): ConnectionCheck {
  if (isPong(response)) return passed('credentials', 'The server accepts the password.');
  if (response.status === 401 || response.status === 403)
    return failed('credentials', 'The server refuses the password.', 'password');
  return failed('credentials', `This is not a BlueBubbles server that works: ${reason}.`, 'url');
}

/** The response of `GET /server/info`. Older servers omit some fields. */
export const ServerInfo = envelope(
  z.object({
    private_api: readable(z.boolean()),
    helper_connected: readable(z.boolean()),
    detected_imessage: readable(Explanation),
    /** The seconds by which the Mac's clock differs from Apple's. */
    macos_time_sync: readable(z.number()),
  }),
);

/** The account in Messages, and the Private API if the settings ask for it. */
function* macChecks(response: Exchange, method: string): Iterable<ConnectionCheck> {
  const info = readOk(response, ServerInfo)?.data;
  const account = info?.detected_imessage;
  if (account === undefined || account === null)
    yield unknown('sender', 'The server does not say who is signed in to Messages.');
  else if (account.trim() === '') yield failed('sender', 'Nobody is signed in to Messages on the Mac.');
  else yield passed('sender', 'Somebody is signed in to Messages on the Mac.');
  if (method !== 'private-api') return;
  const fail = (text: string): ConnectionCheck => failed('private_api', text, 'method');
  if (info?.private_api === false) yield fail('The Private API is turned off in the settings of the server.');
  else if (info?.helper_connected === false) yield fail('The helper of the Private API is not connected.');
  else if (info?.private_api && info.helper_connected) yield passed('private_api', 'The Private API works.');
  else yield unknown('private_api', 'The server does not say whether its Private API works.');
}

/** The server shows them on one page, so there are few. */
const MAX_WEBHOOKS = 200;
/** The response of `GET /webhook`. */
const Webhook = z.object({
  url: z.string(),
  id: z.int().optional().catch(undefined),
  events: listOf(z.string(), MAX_WEBHOOKS).optional().catch(undefined),
});
type Webhook = z.infer<typeof Webhook>;
const Webhooks = envelope(listOf(Webhook, MAX_WEBHOOKS));

/** Whether a webhook reports events to a URL. Older servers do not show them. */
const reportsTo = (webhook: Webhook, url: string, events = EVENTS): boolean =>
  webhook.url === url &&
  events.every((event) => webhook.events?.some((one) => one === event || one === '*') ?? true);

/** Whether the server reports to the line. */
function webhookCheck(response: Exchange, callbackUrl: string): ConnectionCheck {
  const webhooks = readOk(response, Webhooks)?.data;
  if (!webhooks) return unknown('callback', 'The server does not list its webhooks.');
  if (webhooks.some((webhook) => reportsTo(webhook, callbackUrl)))
    return passed('callback', 'The server reports replies and receipts to this line.');
  return failed(
    'callback',
    webhooks.some(({ url }) => url === callbackUrl)
      ? 'The server does not report all events to this line: connect it again.'
      : 'The server does not report to this line: connect it again.',
  );
}
