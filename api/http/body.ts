import { HttpMethodEnum, koaBody } from 'koa-body';
import type Koa from 'koa';
import { ApiError } from './errors.ts';

export const BODY_LIMIT = 1024 * 1024;

const parseJson = koaBody({
  json: true,
  jsonLimit: BODY_LIMIT,
  // Accept scalars, which the route's schema refuses with a better message.
  jsonStrict: false,
  multipart: false,
  urlencoded: false,
  text: false,
  parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
});

/**
 * Reads the JSON body of a request; `{}` if there is none.
 * @throws UNSUPPORTED_MEDIA_TYPE, INVALID_JSON, BODY_TOO_LARGE.
 */
export async function readBody(context: Koa.Context): Promise<unknown> {
  const length = context.request.length;
  const hasBody = (length ?? 0) > 0 || context.get('transfer-encoding') !== '';
  if (!hasBody) return {};
  if (!context.is('json')) throw new ApiError('UNSUPPORTED_MEDIA_TYPE');
  try {
    await parseJson(context, async () => {});
  } catch (error) {
    throw refusedBody(error);
  }
  return (context.request as { body?: unknown }).body;
}

/** Translates an error of the parser; defects of the parser itself are passed on. */
function refusedBody(error: unknown): unknown {
  const { status, errno, type } = error as { status?: number; errno?: number; type?: string };
  if (status === 413) return new ApiError('BODY_TOO_LARGE');
  if (status === 415)
    return new ApiError('UNSUPPORTED_MEDIA_TYPE', 'The body is in an unknown Content-Encoding');
  // zlib errors, for a body that is not in the declared encoding, have an `errno` and no `status`.
  // A client that disconnects mid-request leaves a stream that cannot be read.
  const hungUp = type === 'stream.not.readable';
  const unreadable = status === 400 || errno !== undefined || hungUp || error instanceof SyntaxError;
  return unreadable ? new ApiError('INVALID_JSON') : error;
}

/**
 * Reads the raw body, for verifying signatures.
 * @param limit in bytes.
 * @throws BODY_TOO_LARGE.
 */
export async function readRawBytes(context: Koa.Context, limit = BODY_LIMIT): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of context.req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new ApiError('BODY_TOO_LARGE');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Like `readRawBytes`, decoded as UTF-8; invalid bytes are replaced. */
export async function readRawBody(context: Koa.Context, limit?: number): Promise<string> {
  return (await readRawBytes(context, limit)).toString('utf8');
}
