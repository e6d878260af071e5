import type { Dispatcher } from 'undici';
import type { z } from 'zod';
import type { Exchange } from '../egress-exchange.ts';
import type { CarrierMedia } from './carrier.ts';

/** Whether the response is complete and has a 2xx status. */
export const isOk = ({ status, error }: Exchange): boolean =>
  error === null && status !== null && status >= 200 && status < 300;

/** The parsed body of a response; null if it is incomplete or does not match the schema. */
export function readJson<T>({ error, body }: Exchange, schema: z.ZodType<T>): T | null {
  if (error !== null) return null;
  try {
    return schema.parse(JSON.parse(body));
  } catch {
    return null;
  }
}

/** Like `readJson`, but null unless the status is 2xx. */
export const readOk = <T>(response: Exchange, schema: z.ZodType<T>): T | null =>
  isOk(response) ? readJson(response, schema) : null;

/** Why a request failed. @param text the provider's own text, if the response has one. */
export function failureReason({ error, status }: Exchange, text: string | null | undefined): string {
  if (error !== null) return error instanceof Error && error.message !== '' ? error.message : 'no response';
  return text ?? `the carrier responded ${status}`;
}

/** The file in a response. @throws unless the status is 200. */
export async function mediaOf({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<CarrierMedia> {
  if (statusCode !== 200) {
    await body.dump();
    throw new Error(`the carrier responded ${statusCode}`);
  }
  const contentType = headers['content-type'];
  return { contentType: typeof contentType === 'string' ? contentType : null, body };
}
