import { z } from 'zod';
import { firstOf, readable } from '#domain/base/bounded-schema.ts';
import type { SendOutcome } from '#domain/messages/send-outcome.ts';
import type { Exchange } from '../egress-exchange.ts';
import { type CarrierFailure, outcomeOfFailure, receiptOfFailure } from './carrier-failure.ts';
import { Explanation, failureOfLine, failureReason, readJson } from './http-response.ts';

/** An error in a response or a webhook. Codes are texts of five digits. */
export const TelnyxError = z.object({
  code: z.string().regex(/^\d{5}$/),
  title: readable(Explanation),
  detail: readable(Explanation),
  source: readable(z.object({ pointer: readable(Explanation) })),
});
export type TelnyxError = z.infer<typeof TelnyxError>;

const MAX_ERRORS = 20;
export const TelnyxErrors = firstOf(TelnyxError, MAX_ERRORS);
const ErrorResponse = z.object({ errors: TelnyxErrors });

const errorOf = (response: Exchange): TelnyxError | null =>
  readJson(response, ErrorResponse)?.errors[0] ?? null;

const textOf = ({ title, detail }: TelnyxError): string =>
  [...new Set([title, detail])].filter((text) => text).join(': ') || 'no explanation';

export function telnyxReason(response: Exchange): string {
  const error = errorOf(response);
  return failureReason(response, error && textOf(error));
}

/** Telnyx's error codes (developers.telnyx.com/docs/messaging/messages/error-codes). */
const FAILURES: Record<string, CarrierFailure> = {
  '10001': 'unavailable', // the number is inactive
  '10002': 'refused', // `to` is not a phone number
  '10003': 'refused', // a file's URL is not valid
  '10004': 'refused', // a parameter is missing
  '10005': 'line', // no such resource
  '10006': 'line', // no such id
  '10009': 'credentials',
  '10010': 'line', // the key may not do that
  '10011': 'line', // too many requests
  '10015': 'refused', // a bad request
  '10016': 'refused', // `to` is not in E.164
  '10039': 'line', // the account sends to verified numbers only
  '20002': 'credentials', // the key is revoked
  '20006': 'credentials', // the key has expired
  '20012': 'line', // the account is inactive
  '20013': 'line', // the account is blocked
  '20014': 'line', // the account is not verified
  '20015': 'line', // the feature is not enabled
  '20016': 'line', // the account is not verified
  '20017': 'line', // the account is not verified
  '20100': 'line', // no funds
  '40001': 'unavailable', // a landline, or not routable
  '40002': 'refused', // filtered as spam
  '40003': 'line', // the number is blocked as a sender of spam
  '40004': 'refused', // rejected by the destination
  '40005': 'refused', // it expired
  '40006': 'transient', // the recipient's network did not respond
  '40008': 'refused', // the recipient's network did not take it
  '40009': 'refused', // the text cannot be sent
  '40010': 'line', // the number is not registered for 10DLC
  '40011': 'line', // a network's rate is exceeded
  '40012': 'unavailable', // the network knows no such number
  '40013': 'line', // the network refuses the sender
  '40014': 'refused', // it expired
  '40015': 'refused', // filtered as spam
  '40016': 'line', // the campaign's limit of the day is reached
  '40017': 'refused', // filtered as spam
  '40018': 'line', // the campaign's rate is exceeded
  '40100': 'line', // the number is not enabled for messages
  '40150': 'line', // the toll-free number is not registered
  '40151': 'line', // another provider still has the number
  '40301': 'refused', // MMS cannot be sent there
  '40302': 'refused', // too large
  '40304': 'refused', // the content does not fit together
  '40305': 'line', // `from` is not valid, or in no messaging profile
  '40306': 'line', // the alphanumeric sender is not configured
  '40308': 'line', // `from` cannot send MMS
  '40309': 'line', // the profile does not allow that region
  '40310': 'refused', // `to` is not valid
  '40311': 'line', // the profile's secret is wrong
  '40312': 'line', // the profile is disabled
  '40313': 'line', // the profile's secret is missing
  '40314': 'line', // the account may not send
  '40315': 'line', // `from` is unhealthy
  '40316': 'refused', // no content
  '40317': 'refused', // the files are not valid
  '40318': 'line', // the queue is full
  '40319': 'refused', // the kind of message does not fit `to`
  '40320': 'line', // `from` cannot be used yet
  '40321': 'line', // the profile has no number that can be used
  '40322': 'refused', // blocked because of its content
  '40328': 'refused', // too long
  '40329': 'line', // the toll-free number is not verified
};

/** A code whose meaning only its words tell: an opt-out, or a number that cannot be reached. */
const BLOCKED = '40300';

function failureOf({ code, title, detail, source }: TelnyxError): CarrierFailure | undefined {
  // What is wrong with the sender of one message is wrong with that of all.
  if (source?.pointer?.startsWith('/from')) return 'line';
  if (code !== BLOCKED) return FAILURES[code];
  return /\bstop\b|block rule/i.test(`${title} ${detail}`) ? 'opted_out' : 'unavailable';
}

const reasonOf = (error: TelnyxError): string => `${error.code}: ${textOf(error)}`;

/** The outcome of a send to which Telnyx, or somebody in front of it, responded with an error. */
export function telnyxFailure(response: Exchange): SendOutcome {
  const error = errorOf(response);
  const reason = error ? reasonOf(error) : telnyxReason(response);
  const failure = error ? failureOf(error) : undefined;
  if (failure !== undefined) return outcomeOfFailure(failure, reason);
  return failureOfLine(response, error !== null, reason) ?? { kind: 'refused', reason };
}

/** A failure that is reported later, and what it is about. */
export const telnyxLateFailure = (
  error: TelnyxError,
): { reason: string } & ReturnType<typeof receiptOfFailure> => ({
  reason: reasonOf(error),
  ...receiptOfFailure(failureOf(error)),
});
