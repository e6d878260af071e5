import { Webhook } from 'standardwebhooks';
import type { Config } from '../../../domain/base/config.ts';
import { newId } from '../../../domain/base/ids.ts';
import { callbackKey } from '../../../providers/carriers/simulated-protocol.ts';

export interface BenchResponse {
  status: number;
  headers: Headers;
  // oxlint-disable-next-line no-explicit-any
  body: any;
}

/** Calls the API with one key. */
export type Caller = (method: string, path: string, body?: object) => Promise<BenchResponse>;

export const callerOf =
  ({ publicUrl }: Pick<Config, 'publicUrl'>, key: string): Caller =>
  async (method, path, body) => {
    const response = await fetch(`${publicUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };

/** Has the simulated carrier report a reply once. @returns the status of the callback. */
export async function reply(
  { publicUrl, simulator }: Pick<Config, 'publicUrl' | 'simulator'>,
  lineId: string,
  from: string,
  text: string,
): Promise<number> {
  const id = newId();
  const at = new Date();
  const event = {
    kind: 'reply',
    eventId: id,
    at,
    carrierMessageId: id,
    from,
    text,
    attachments: [],
    autoReply: false,
  };
  const body = JSON.stringify({ lineId, events: [event] });
  const response = await fetch(`${publicUrl}/callbacks/carriers/simulated/${lineId}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(callbackKey(simulator?.secret ?? '')).sign(id, at, body),
    },
    body,
  });
  await response.arrayBuffer();
  return response.status;
}

/** A phone number for each index, whose last digits select no special behaviour of the simulated carrier. */
export const contactNumber = (index: number): string =>
  `+1415${2_000_000 + Math.floor(index / 9000) * 10_000 + 1000 + (index % 9000)}`;

/**
 * Starts a campaign whose steps follow one another without a delay.
 * @param options.contacts the contacts in its list at the start.
 * @returns its id.
 */
export async function startCampaign(
  call: Caller,
  options: { steps: number; contacts?: readonly string[]; stopOnReply?: boolean },
): Promise<string> {
  const { steps, contacts = [], ...settings } = options;
  const listId = contacts.length > 0 ? await fillList(call, contacts) : undefined;
  const campaign = {
    name: 'Bench',
    steps: Array.from({ length: steps }, (_, index) => ({ message: `Step ${index}` })),
    start: true,
    ...settings,
    ...(listId !== undefined && { listId }),
  };
  return (await bodyOf(call('POST', '/api/campaigns', campaign))).campaign._id as string;
}

async function fillList(call: Caller, contacts: readonly string[]): Promise<string> {
  const listId = (await bodyOf(call('POST', '/api/lists', { name: 'Bench' }))).list._id as string;
  for (let from = 0; from < contacts.length; from += 500) {
    const leads = contacts.slice(from, from + 500).map((phone) => ({ phone }));
    await bodyOf(call('POST', '/api/leads', { listId, leads }));
  }
  return listId;
}

/** @throws unless the response is a success. */
async function bodyOf(response: Promise<BenchResponse>): Promise<BenchResponse['body']> {
  const { status, body } = await response;
  if (status >= 300) throw new Error(`the response was ${status}: ${JSON.stringify(body)}`);
  return body;
}
