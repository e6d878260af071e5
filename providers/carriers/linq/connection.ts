import { z } from 'zod';
import { listOf, readable } from '#domain/base/bounded-schema.ts';
import { isOfLine } from '../callback-secret.ts';
import type { Carrier, ConnectionCheck, ConnectionGuide } from '../carrier.ts';
import { credentialsCheck, failed, passed, serverCheck, unknown } from '../connection-checks.ts';
import { isOk, readOk } from '../http-response.ts';
import { type LinqApi, type LinqConfig, reasonOf } from './api.ts';
import { EVENTS, OWN_EVENT, TYPING_EVENTS, webhookUrl } from './webhook.ts';

export const GUIDE: ConnectionGuide = {
  title: 'Linq',
  summary: 'iMessage and SMS through a number of your Linq account.',
  before: [
    'In the Linq dashboard, choose the number that is to write, and copy it with its country code.',
    'Create a token of the Partner API, and copy it.',
  ],
  after: ['Linq was told the callback URL, as a webhook subscription for this number.'],
};

const MAX_NUMBERS = 1000;
const PhoneNumbers = z.object({
  phone_numbers: listOf(z.object({ phone_number: z.string() }), MAX_NUMBERS),
});
const MAX_SUBSCRIPTIONS = 200;
const Subscription = z.object({
  id: z.string(),
  target_url: z.string(),
  is_active: readable(z.boolean()),
  subscribed_events: readable(listOf(z.string(), MAX_SUBSCRIPTIONS)),
  /** Empty: all of the account. */
  phone_numbers: readable(listOf(z.string(), MAX_NUMBERS)),
});
type Subscription = z.infer<typeof Subscription>;
const Subscriptions = z.object({ subscriptions: listOf(Subscription, MAX_SUBSCRIPTIONS) });

/** Registers the callback URL at Linq, and checks the settings of a line. */
export function createConnection(
  api: LinqApi,
): Required<Pick<Carrier<LinqConfig>, 'configureInbound' | 'probe' | 'checkConnection'>> {
  return {
    async configureInbound(config, _lineId, callbackUrl) {
      const url = webhookUrl(config, callbackUrl);
      const listed = await api.ask(config, '/v3/webhook-subscriptions');
      const list = readOk(listed, Subscriptions);
      if (!list) throw new Error(reasonOf(listed));
      const wanted = [...EVENTS, OWN_EVENT, ...TYPING_EVENTS];
      if (list.subscriptions.some((one) => reportsTo(one, config, url, wanted))) return;
      // Linq takes a URL once, also if it reports nothing there.
      const known = list.subscriptions.find((one) => isOfLine(one.target_url, callbackUrl));
      const path = '/v3/webhook-subscriptions';
      const written = await api.call(config, known ? `${path}/${encodeURIComponent(known.id)}` : path, {
        method: known ? 'PUT' : 'POST',
        body: {
          target_url: url,
          subscribed_events: wanted,
          phone_numbers: [config.fromNumber],
          ...(known && { is_active: true }),
        },
      });
      if (!isOk(written)) throw new Error(reasonOf(written));
    },

    async probe(config) {
      const response = await api.ask(config, '/v3/phone_numbers');
      const list = readOk(response, PhoneNumbers);
      if (!list) throw new Error(reasonOf(response));
      const check = numberCheck(config, list.phone_numbers);
      if (check.result === 'fail') throw new Error(check.text);
    },

    async *checkConnection(config, { callbackUrl, reachCallbacks }) {
      const response = await api.ask(config, '/v3/phone_numbers');
      yield serverCheck(api.hostOf(config), response, 'baseUrl');
      if (response.error !== null) return;
      const list = readOk(response, PhoneNumbers);
      yield credentialsCheck(response, list !== null, {
        who: 'Linq',
        what: 'the token',
        setting: 'apiKey',
        reason: reasonOf(response),
      });
      if (!list) return;
      yield numberCheck(config, list.phone_numbers);
      if (callbackUrl !== null) {
        const known = readOk(await api.ask(config, '/v3/webhook-subscriptions'), Subscriptions);
        yield subscriptionCheck(known, config, webhookUrl(config, callbackUrl));
      }
      yield { name: 'callback_address', ...(await reachCallbacks()) };
    },
  };
}

const numberCheck = (
  { fromNumber }: LinqConfig,
  numbers: readonly { phone_number: string }[],
): ConnectionCheck =>
  numbers.some(({ phone_number: number }) => number === fromNumber)
    ? passed('sender', `${fromNumber} belongs to the account.`)
    : failed('sender', `The account has no number ${fromNumber}.`, 'fromNumber');

/** Whether a subscription reports all that a line needs to its URL. What is not shown is no failure. */
const reportsTo = (
  subscription: Subscription,
  { fromNumber }: LinqConfig,
  url: string,
  needed: readonly string[] = EVENTS,
): boolean => {
  const { is_active: isActive, subscribed_events: events, phone_numbers: numbers } = subscription;
  return (
    subscription.target_url === url &&
    isActive !== false &&
    needed.every((event) => events?.includes(event) ?? true) &&
    (!numbers?.length || numbers.includes(fromNumber))
  );
};

function subscriptionCheck(
  known: z.infer<typeof Subscriptions> | null,
  config: LinqConfig,
  url: string,
): ConnectionCheck {
  if (!known) return unknown('callback', 'Linq did not list its webhook subscriptions.');
  if (known.subscriptions.some((one) => reportsTo(one, config, url)))
    return passed('callback', 'Replies are reported to this line.');
  return failed(
    'callback',
    known.subscriptions.some(({ target_url: target }) => target === url)
      ? 'The webhook subscription of this line is not active, or lacks events or the number: connect it again.'
      : 'Linq does not report replies to this line: connect it again.',
  );
}
