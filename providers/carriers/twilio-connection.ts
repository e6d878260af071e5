import { z } from 'zod';
import { listOf } from '#domain/bounded-schema.ts';
import type { Exchange } from '../egress-exchange.ts';
import type { ConnectionCheck, ConnectionGuide } from './carrier.ts';
import { failed, passed, unknown } from './connection-checks.ts';
import { Explanation, readJson, readOk } from './http-response.ts';
import { twilioReason } from './twilio-errors.ts';

/** The names of pages and fields are those of console.twilio.com. */
export const TWILIO_GUIDE: ConnectionGuide = {
  title: 'Twilio',
  summary: 'SMS and MMS from a number of your Twilio account.',
  before: [
    'In the Twilio Console, open Phone Numbers, Manage, Active numbers, and choose a number that can send SMS. Buy one if there is none.',
    'Open the start page of the account. Under Account Info, copy the Account SID and the Auth Token.',
  ],
  after: [
    'In the Twilio Console, open Phone Numbers, Manage, Active numbers, and then the number.',
    'Under Messaging Configuration, set “A message comes in” to Webhook, with the callback URL below and HTTP POST.',
    'Save the configuration, and test the connection here.',
  ],
};

const Account = z.object({ status: Explanation });

export function accountCheck(response: Exchange): ConnectionCheck {
  const account = readOk(response, Account);
  if (account?.status === 'active') return passed('credentials', 'Twilio accepts the credentials.');
  if (account) return failed('credentials', `The account is ${account.status}.`, 'accountSid');
  const reason = `Twilio refuses the credentials: ${twilioReason(response)}.`;
  if (response.status === 401 || response.status === 403) return failed('credentials', reason, 'authToken');
  if (response.status === 404) return failed('credentials', 'Twilio knows no such account.', 'accountSid');
  return unknown('credentials', `Twilio did not say whether they are right: ${twilioReason(response)}.`);
}

/** The query names one number. */
const MAX_NUMBERS = 100;
const Numbers = z.object({
  incoming_phone_numbers: listOf(
    z.object({
      phone_number: z.string(),
      sms_url: z.string().nullish(),
      capabilities: z.object({ sms: z.boolean().nullish() }).nullish(),
    }),
    MAX_NUMBERS,
  ),
});

/** The number in the response of the account's numbers: whether it is there, can send, and reports to the line. */
export function* numberChecks(
  response: Exchange,
  { number, callbackUrl }: { number: string; callbackUrl: string | null },
): Iterable<ConnectionCheck> {
  const numbers = response.status === 200 ? readJson(response, Numbers) : null;
  if (!numbers) {
    yield unknown('sender', `Twilio did not list the numbers of the account: ${twilioReason(response)}.`);
    return;
  }
  const found = numbers.incoming_phone_numbers.find(({ phone_number: owned }) => owned === number);
  if (!found) {
    yield failed('sender', `The account has no number ${number}.`, 'address');
    return;
  }
  if (found.capabilities?.sms === false) yield failed('sender', `${number} cannot send SMS.`, 'address');
  else yield passed('sender', `The account has the number ${number}, which can send SMS.`);
  if (callbackUrl === null) return;
  if (found.sms_url === callbackUrl)
    yield passed('callback', 'Replies to the number are reported to this line.');
  else
    yield failed(
      'callback',
      found.sms_url
        ? 'The number reports replies to another URL: replace it in its Messaging Configuration.'
        : 'The number reports replies to no URL: enter the callback URL in its Messaging Configuration.',
    );
}
