import { z } from 'zod';
import { refusedCredentials, type SendOutcome } from '#domain/send-outcome.ts';
import type { Exchange } from '../egress-exchange.ts';
import { Explanation, failureOfLine, failureReason, readJson } from './http-response.ts';

export const ErrorResponse = z.object({ code: z.number().nullish(), message: Explanation.nullish() });

export const twilioReason = (response: Exchange): string =>
  failureReason(response, readJson(response, ErrorResponse)?.message);

type Failure =
  | Exclude<SendOutcome, { kind: 'accepted' | 'unknown' }>['kind']
  | 'opted_out'
  | 'credentials'
  | 'line';

/**
 * Outcomes by Twilio's error codes (www.twilio.com/docs/api/errors). Errors about the account or the
 * sender (`line`) are transient for the message, because the operator can fix them.
 */
const FAILURES: Record<number, Failure> = {
  20003: 'credentials',
  20429: 'line', // too many requests
  21211: 'refused', // `To` is not a phone number
  21212: 'line', // `From` is not a phone number
  21408: 'refused', // the region is not enabled
  21606: 'line', // `From` cannot send SMS
  21608: 'refused', // a trial account sends to verified numbers only
  21610: 'opted_out', // the recipient wrote STOP
  21611: 'line', // the queue of `From` is full
  21612: 'unavailable', // no route to `To`
  21614: 'unavailable', // not a mobile number
  21617: 'refused', // too long
  30001: 'line', // queue overflow
  30002: 'line', // the account is suspended
  30003: 'transient', // the phone is off or out of reach
  30004: 'refused', // blocked
  30005: 'unavailable', // no such phone
  30006: 'unavailable', // a landline, or a network without SMS
  30007: 'refused', // filtered as spam
  30008: 'refused', // unknown error of the network: it may have arrived
  30034: 'line', // the number is not registered for A2P 10DLC
};

/** Twilio's codes have five digits; a smaller one repeats the HTTP status, as gateways do. */
const FIRST_CODE = 10_000;

/** The outcome of a send to which Twilio responded with an error. @param status the HTTP status. */
export function twilioFailure(code: number | null, status: number, text: string): SendOutcome {
  const reason = code === null ? text : `${code}: ${text}`;
  switch (code === null ? undefined : FAILURES[code]) {
    case 'opted_out':
      return { kind: 'refused', reason, optedOut: true };
    case 'refused':
      return { kind: 'refused', reason };
    case 'unavailable':
      return { kind: 'unavailable', reason };
    case 'transient':
      return { kind: 'transient', reason };
    case 'line':
      return { kind: 'transient', reason, ofLine: true };
    case 'credentials':
      return refusedCredentials(reason);
    case undefined:
      break;
  }
  return (
    failureOfLine({ status }, code !== null && code >= FIRST_CODE, reason) ?? { kind: 'refused', reason }
  );
}

/** Whether a failure reported by a callback is caused by an opt-out. */
export const isOptOutCode = (code: number): boolean => FAILURES[code] === 'opted_out';
