import { boundedFetch } from '../bounded-fetch.ts';
import { connectionFailure } from '../connection-failure.ts';
import { timeLimit } from '../time-limit.ts';
import { realTime } from '#domain/base/clock.ts';
import { tryParseUntrustedJson } from '#domain/base/untrusted-json.ts';
import { CrmUnavailable } from './crm.ts';

const TIMEOUT_MS = 15_000;
/** A page of contacts. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

export interface CrmAnswer {
  status: number;
  headers: Headers;
  body: unknown;
}

/** Sends requests with JSON, or with a form. @param title of the provider, for errors. @returns a function that throws CrmUnavailable if there is no response */
export function crmRequests(title: string, caFile: string | null) {
  const request = boundedFetch(MAX_RESPONSE_BYTES, caFile, { isPunctual: true });
  return async (
    url: string,
    {
      method,
      headers,
      body,
    }: { method: string; headers: Record<string, string>; body?: object | URLSearchParams | undefined },
  ): Promise<CrmAnswer> => {
    const isForm = body instanceof URLSearchParams;
    const response = await request(url, {
      method,
      headers: {
        accept: 'application/json',
        ...headers,
        ...(body && !isForm && { 'content-type': 'application/json' }),
      },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
      redirect: 'error',
      signal: timeLimit(TIMEOUT_MS),
    }).catch((error: unknown) => {
      // Without the error, whose text may contain an address.
      const reason = connectionFailure(error instanceof TypeError ? error.cause : error);
      throw new CrmUnavailable(`${title} cannot be reached: ${reason}`);
    });
    const { status, headers: given } = response;
    return { status, headers: given, body: tryParseUntrustedJson(await response.text()) };
  };
}

/** When it was given, by the clock of the provider. */
export const answeredAt = ({ headers }: CrmAnswer): Date =>
  new Date(Date.parse(headers.get('date') ?? '') || realTime().getTime());
