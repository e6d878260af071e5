import { z } from 'zod';
import { numeric, readable } from '#domain/base/bounded-schema.ts';
import type { SendOutcome } from '#domain/messages/send-outcome.ts';
import type { Exchange } from '../../egress-exchange.ts';
import { type CarrierFailure, outcomeOfFailure, receiptOfFailure } from '../carrier-failure.ts';
import { Explanation, failureOfLine, failureReason, readJson } from '../http-response.ts';

export const ErrorResponse = z.object({ code: readable(numeric), message: readable(Explanation) });

export const twilioReason = (response: Exchange): string =>
  failureReason(response, readJson(response, ErrorResponse)?.message);

/** Twilio's error codes (www.twilio.com/docs/api/errors). */
const FAILURES: Record<number, CarrierFailure> = {
  10001: 'line', // the account is not active
  10002: 'line', // not available to trial accounts
  20003: 'credentials',
  20005: 'line', // the account is not active
  20006: 'line', // access denied
  20008: 'line', // test credentials
  20009: 'line', // an operation that the account may not make
  20010: 'line', // the account is suspended
  20403: 'line', // the account may not do that
  20404: 'line', // no such account
  20426: 'line', // TLS is required
  20429: 'line', // too many requests
  21211: 'refused', // `To` is not a phone number
  21212: 'line', // `From` is not a phone number
  21213: 'line', // there is no `From`
  21214: 'unavailable', // `To` cannot be reached
  21217: 'refused', // `To` is not a phone number
  21219: 'line', // a trial account sends to verified numbers only
  21264: 'line', // `From` is not verified
  21265: 'refused', // `To` is a short code
  21266: 'refused', // `To` and `From` are the same
  21267: 'line', // trial accounts cannot use an alphanumeric sender
  21268: 'refused', // a premium or information service
  21401: 'line', // `From` is not valid
  21407: 'line', // `From` cannot send SMS
  21408: 'refused', // the account may not send to the region of `To`: other recipients are not concerned
  21470: 'line', // no such account
  21471: 'line', // no such account
  21472: 'line', // the account is not active
  21601: 'line', // `From` is not a number of the account that can send SMS
  21602: 'refused', // no text
  21603: 'line', // there is no `From`
  21604: 'refused', // there is no `To`
  21605: 'refused', // too long
  21606: 'line', // `From` cannot send SMS
  21607: 'line', // `From` must be the sandbox's
  21608: 'line', // a trial account sends to verified numbers only
  21609: 'line', // the status callback is not a valid URL
  21610: 'opted_out', // the recipient wrote STOP
  21611: 'line', // the queue of `From` is full
  21612: 'unavailable', // no route to `To`
  21614: 'unavailable', // not a mobile number
  21616: 'line', // `From` is several numbers of the account
  21617: 'refused', // too long
  21618: 'refused', // the text cannot be sent
  21619: 'refused', // neither a text nor files
  21620: 'refused', // a file's URL is not valid
  21621: 'line', // `From` cannot send MMS
  21622: 'line', // the account cannot send MMS
  21623: 'refused', // too many files
  21635: 'unavailable', // a landline
  21654: 'refused', // a template is required
  21657: 'line', // the sender is not valid
  21659: 'line', // `From` is not a number of Twilio, or a short code of another country
  21660: 'line', // `From` is a number of another account
  21661: 'line', // `From` cannot send SMS
  21662: 'line', // `From` does not fit the region of the account
  21663: 'line', // the routing of `From` is not configured for the region
  21668: 'line', // the type of `From` does not fit the region
  21701: 'line', // no such messaging service
  21702: 'line', // the messaging service cannot send
  21703: 'line', // the messaging service has no number for this message
  21704: 'line', // the messaging service has no numbers
  21705: 'line', // the messaging service is not valid
  21708: 'line', // the messaging service has no alphanumeric sender
  21709: 'line', // the alphanumeric sender is not authorized
  21711: 'line', // `From` is not in the messaging service
  21712: 'line', // `From` is in another messaging service
  21713: 'line', // the use case of the messaging service is not valid
  21715: 'line', // the number cannot be used in a messaging service
  21729: 'line', // the campaign is suspended
  21730: 'line', // maintenance
  21731: 'line', // the brand is suspended
  21910: 'line', // `From` and `To` are of different channels
  30001: 'line', // queue overflow
  30002: 'line', // the account is suspended
  30003: 'transient', // the phone is off or out of reach
  30004: 'refused', // blocked
  30005: 'unavailable', // no such phone
  30006: 'unavailable', // a landline, or a network without SMS
  30007: 'refused', // filtered as spam
  30008: 'refused', // unknown error of the network: it may have arrived
  30010: 'line', // more expensive than the account allows
  30011: 'refused', // the recipient's network has no MMS
  30017: 'transient', // the network is congested
  30018: 'line', // the sender must be registered at the network
  30019: 'refused', // the files are too large
  30021: 'transient', // an internal error of messaging services
  30022: 'line', // the rate of the campaign is exceeded
  30023: 'line', // the campaign's limit of the day is reached
  30024: 'line', // the sender is not provisioned at the network
  30027: 'line', // the brand's limit of the day is reached
  30032: 'line', // the toll-free number is not verified
  30033: 'line', // the campaign is suspended
  30034: 'line', // the number is not registered for A2P 10DLC
  30035: 'line', // the number is being registered for A2P 10DLC
  30036: 'refused', // it expired
  30037: 'line', // the account cannot send
  30038: 'refused', // a one-time password, which is filtered
  30039: 'refused', // a loop of messages
  30040: 'line', // the sender must be registered at the network
  30041: 'line', // the sender is restricted, or must be registered in the country
  30042: 'line', // the alphanumeric sender is not authorized
  30043: 'line', // the route is not allowed for international messages
  30044: 'line', // too long for a trial account
  30410: 'transient', // a network did not respond in time
  30450: 'refused', // blocked as fraud
  30453: 'refused', // it could not be delivered
};

/** Twilio's codes have five digits; a smaller one repeats the HTTP status, as gateways do. */
const FIRST_CODE = 10_000;

/** The outcome of a send to which Twilio responded with an error. @param status the HTTP status. */
export function twilioFailure(code: number | null, status: number, text: string): SendOutcome {
  const reason = code === null ? text : `${code}: ${text}`;
  const failure = code === null ? undefined : FAILURES[code];
  if (failure !== undefined) return outcomeOfFailure(failure, reason);
  return (
    failureOfLine({ status }, code !== null && code >= FIRST_CODE, reason) ?? { kind: 'refused', reason }
  );
}

/** What a failure that Twilio reports later is about. */
export const lateFailure = (code: number): ReturnType<typeof receiptOfFailure> =>
  receiptOfFailure(FAILURES[code]);
