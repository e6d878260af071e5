import type { Dispatcher } from 'undici';
import type { z } from 'zod';
import { textUpTo } from '#domain/base/bounded-schema.ts';
import { refusedCredentials, type SendOutcome } from '#domain/messages/send-outcome.ts';
import { parseUntrustedJson } from '#domain/base/untrusted-json.ts';
import { type Exchange, isTooLarge } from '../egress-exchange.ts';
import type { CarrierMedia } from './carrier.ts';

/** The size limits of responses, in bytes: of a single object, and of a page of messages. */
export const MAX_OBJECT_BYTES = 64 * 1024;
export const MAX_PAGE_BYTES = 2 * 1024 * 1024;
/** More than a page of messages has. Schemas bound each list besides. */
const MAX_RESPONSE_VALUES = 50_000;

/** A provider's explanation, which is searched and stored. */
export const Explanation = textUpTo(500);

/** Whether the response is complete and has a 2xx status. */
export const isOk = ({ status, error }: Exchange): boolean => error === null && isSuccess(status);

const isSuccess = (status: number | null): boolean => status !== null && status >= 200 && status < 300;

/** Several schemas may be tried on a response, which is parsed once. */
const parsed = new WeakMap<Exchange, { value: unknown }>();

function jsonOf(response: Exchange): unknown {
  const known = parsed.get(response);
  if (known) return known.value;
  let value: unknown;
  try {
    value = parseUntrustedJson(response.body, MAX_RESPONSE_VALUES);
  } catch {
    // No schema accepts undefined.
  }
  parsed.set(response, { value });
  return value;
}

/** The parsed body of a response; null if it is incomplete, too complex, or does not match the schema. */
export function readJson<T>(response: Exchange, schema: z.ZodType<T>): T | null {
  if (response.error !== null) return null;
  const json = jsonOf(response);
  return json === undefined ? null : (schema.safeParse(json).data ?? null);
}

/** Like `readJson`, but null unless the status is 2xx. */
export const readOk = <T>(response: Exchange, schema: z.ZodType<T>): T | null =>
  isOk(response) ? readJson(response, schema) : null;

/** Why a request failed. @param text the provider's own text, if the response has one. */
export function failureReason({ error, status }: Exchange, text: string | null | undefined): string {
  if (error !== null) return error instanceof Error && error.message !== '' ? error.message : 'no response';
  return (
    text ?? (isSuccess(status) ? "the response is not the carrier's own" : `the carrier responded ${status}`)
  );
}

/** They concern the account, the request or the server, whoever responds with them. */
const ABOUT_THE_LINE: ReadonlySet<number | null> = new Set([403, 404, 405, 407, 408, 429]);

/**
 * The outcome of a send whose error response says nothing about the message: its status is about the account or the server, or it
 * comes from a tunnel or proxy in front of the carrier, which may let other messages pass.
 * @param isOwn whether the body is the carrier's own error.
 * @returns null: the carrier itself refuses the message.
 */
export function failureOfLine(
  { status }: Pick<Exchange, 'status'>,
  isOwn: boolean,
  reason: string,
): SendOutcome | null {
  if (isTooLarge({ status }) && !isOwn) {
    const size = `too large for the server of the carrier or a proxy in front of it (${status})`;
    return { kind: 'transient', reason: size, ofLine: true };
  }
  // Also after the message was accepted: a server can fail, or a proxy can lose its response.
  if (status === null || status >= 500) return isOwn ? { kind: 'unknown', reason } : foreignAnswer(reason);
  if (status === 401 || (status === 403 && isOwn)) return refusedCredentials(reason);
  return isOwn && !ABOUT_THE_LINE.has(status) ? null : { kind: 'transient', reason, ofLine: true };
}

/** The outcome of a send that somebody else than the carrier has answered, who may have passed it on. */
export const foreignAnswer = (reason: string): SendOutcome => ({ kind: 'unknown', reason, ofLine: true });

/** The header that asks for a file from a byte on. Servers may ignore it. */
export const rangeFrom = (from: number): Record<string, string> =>
  from > 0 ? { range: `bytes=${from}-` } : {};

/**
 * The file in a response.
 * @param from the byte at which it was asked to start.
 * @throws unless the status is 200, or 206 for such a part.
 */
export async function mediaOf(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  from = 0,
): Promise<CarrierMedia> {
  const isPart = statusCode === 206 && String(headers['content-range']).startsWith(`bytes ${from}-`);
  if (statusCode !== 200 && !isPart) {
    await body.dump();
    throw new Error(`the carrier responded ${statusCode}`);
  }
  const { 'content-type': contentType, 'content-length': length } = headers;
  return {
    contentType: typeof contentType === 'string' ? contentType : null,
    body,
    ...(isPart ? { from } : typeof length === 'string' && { size: Number(length) }),
  };
}
