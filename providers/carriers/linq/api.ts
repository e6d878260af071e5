import { z } from 'zod';
import { HeaderToken } from '#domain/base/header-token.ts';
import { readable } from '#domain/base/bounded-schema.ts';
import type { SendOutcome } from '#domain/messages/send-outcome.ts';
import type { Exchange } from '../../egress-exchange.ts';
import { type CarrierFailure, outcomeOfFailure } from '../carrier-failure.ts';
import { createHostedApi, type HostedApi, type HostedCarrierOptions, ownServerOf } from '../hosted-api.ts';
import { Explanation, failureOfLine, failureReason, readJson } from '../http-response.ts';

export const LinqConfig = z.object({
  apiKey: HeaderToken.meta({ secret: true, description: 'The token of the Partner API, version 3.' }),
  fromNumber: z
    .string()
    .regex(/^\+\d{8,15}$/)
    .meta({ description: 'The number at Linq, for example +14155550111.' }),
  /** Part of the callback URL: the secret with which Linq signs is told only to whom registers it. */
  callbackSecret: z.string().min(16).meta({ secret: true }),
  ...ownServerOf("Linq's"),
});
export type LinqConfig = z.infer<typeof LinqConfig>;

/** Linq's Partner API, version 3. */
export type LinqApi = HostedApi<LinqConfig>;

export const createLinqApi = (options: HostedCarrierOptions): LinqApi =>
  createHostedApi(
    'https://api.linqapp.com/api/partner',
    ({ apiKey }) => ({ authorization: `Bearer ${apiKey}` }),
    options,
  );

/** Linq's codes have four digits; a smaller one repeats the HTTP status, as gateways do. */
const FIRST_CODE = 1000;
const Failure = z.object({
  success: z.literal(false),
  error: z.object({
    code: z.int().min(FIRST_CODE),
    message: readable(Explanation),
    retry_after: readable(z.number().min(0).max(86_400)),
  }),
});

/** The account does not have the feature. */
export const NOT_AVAILABLE = 2011;

/** Linq's error codes (docs.linqapp.com/error). Other codes of a 5xx leave open whether the message was sent. */
export const FAILURES: Record<number, CarrierFailure> = {
  1001: 'refused', // a field is missing
  1002: 'refused', // not in E.164
  1003: 'refused', // the body is not valid
  1004: 'refused', // the content is not valid
  1005: 'refused', // a value is not valid, such as a link in the first message of a chat
  1007: 'line', // too many requests
  2001: 'transient', // no such chat: it is looked for again
  2003: 'refused', // no such file
  2004: 'credentials',
  2005: 'line', // access denied
  2006: 'line', // not a number of the account
  2007: 'transient', // a file is not ready
  2008: 'line', // a sandbox writes only to whom has written to it
  2009: 'transient', // the chat is being created
  [NOT_AVAILABLE]: 'line',
  2013: 'refused', // the chat was left
  2015: 'transient', // a conflict
  2016: 'refused', // not in a group
  2017: 'refused', // not by this service
  3007: 'refused', // it was tried as often as Linq does
  4001: 'refused', // it could not be delivered
  4002: 'line', // the number is not available
  4005: 'unavailable', // the recipient cannot get this kind of message
  5004: 'refused', // the kind of file
  5005: 'refused', // the file is too large
  5006: 'refused', // the file is not of its kind
  5007: 'refused', // the file cannot be fetched
};

export function reasonOf(response: Exchange): string {
  return failureReason(response, readJson(response, Failure)?.error.message);
}

/** What a response that is no success says about what was sent. */
export function failureOf(response: Exchange): SendOutcome {
  const own = readJson(response, Failure);
  const code = own?.error.code;
  const text = reasonOf(response);
  const reason = code === undefined ? text : `${code}: ${text}`;
  const retryAfter = own?.error.retry_after;
  const failure = code === undefined ? undefined : FAILURES[code];
  if (failure === undefined)
    return failureOfLine(response, own !== null, reason) ?? { kind: 'refused', reason };
  const outcome = outcomeOfFailure(failure, reason);
  return outcome.kind === 'transient' && typeof retryAfter === 'number'
    ? { ...outcome, retryAfterMs: retryAfter * 1000 }
    : outcome;
}
