import { isUtf8 } from 'node:buffer';
import { HttpMethodEnum, koaBody } from 'koa-body';
import type Koa from 'koa';
import { nextTurn } from '#domain/base/turns.ts';
import { JsonTooComplex, parseUntrustedJson } from '#domain/base/untrusted-json.ts';
import { ApiError, invalid } from './errors.ts';
import { DirectExchange, type Exchange } from './exchange.ts';

const BODY_LIMIT = 1024 * 1024;
/** The limit for JSON without a credential, in bytes. */
const ANONYMOUS_BODY_LIMIT = 4096;
/** The limit for HTML forms, which may contain a session token, in bytes. */
const FORM_LIMIT = 16 * 1024;
/** The length in characters from which a text is parsed and validated in separate turns of the event loop. */
const LARGE = 32 * 1024;

/**
 * Reads a JSON body as text, because koa-body would parse it whatever its structure; one character per byte, because
 * koa-body would replace invalid UTF-8.
 */
const bytesReader = (limit: number) =>
  koaBody({
    encoding: 'latin1',
    text: true,
    textTypes: ['json'],
    textLimit: limit,
    json: false,
    multipart: false,
    urlencoded: false,
    parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
  });
const readLarge = bytesReader(BODY_LIMIT);
const readSmall = bytesReader(ANONYMOUS_BODY_LIMIT);

export interface BodyBounds {
  /** The maximum number of values in the JSON; default: `MAX_VALUES`. */
  maxValues?: number | undefined;
  /** Called with the size of the text, in characters, before it is parsed. */
  admit?: (size: number) => Promise<void>;
  /** The field that a body of `text/csv` is. */
  csvField?: string | undefined;
}

/**
 * Reads the JSON body of a request; `{}` if there is none.
 * @throws UNSUPPORTED_MEDIA_TYPE, INVALID_JSON, BODY_TOO_LARGE; VALIDATION_ERROR if it is too complex.
 */
export async function readBody(
  context: Exchange,
  { maxValues, admit, csvField }: BodyBounds = {},
): Promise<unknown> {
  if (csvField !== undefined && !(context instanceof DirectExchange) && context.is('text/csv'))
    return { [csvField]: await readCsv(context) };
  const text = decode(
    await (context instanceof DirectExchange ? context.readBytes() : readJson(context, readLarge)),
  );
  await admit?.(text.length);
  const isLarge = text.length > LARGE;
  if (isLarge) await nextTurn();
  const body = parseText(text, maxValues);
  if (isLarge) await nextTurn();
  return body;
}

/** @throws BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, VALIDATION_ERROR */
async function readCsv(context: Koa.Context): Promise<string> {
  if (context.get('content-encoding') !== '')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed');
  const bytes = await readRawBytes(context);
  if (!isUtf8(bytes)) throw invalid('', 'the body is not UTF-8 text');
  return withoutMark(bytes.toString('utf8'));
}

/**
 * Reads the JSON body of a request that anybody may send: 4 KB, not compressed.
 * @throws as `readBody` does.
 */
export async function readAnonymousBody(context: Koa.Context): Promise<unknown> {
  if (context.get('content-encoding') !== '')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed');
  return parseText(decode(await readJson(context, readSmall)));
}

async function readJson(context: Koa.Context, read: Koa.Middleware): Promise<Buffer> {
  const length = context.request.length;
  const hasBody = (length ?? 0) > 0 || context.get('transfer-encoding') !== '';
  if (!hasBody) return Buffer.alloc(0);
  if (!context.is('json')) throw new ApiError('UNSUPPORTED_MEDIA_TYPE');
  try {
    await read(context, async () => {});
  } catch (error) {
    throw refusedBody(error);
  }
  return Buffer.from((context.request as { body?: string }).body ?? '', 'latin1');
}

const BYTE_ORDER_MARK = '\uFEFF';

/** @throws INVALID_JSON: a text with replaced characters would be sent to contacts. */
function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new ApiError('INVALID_JSON', 'The body is not valid UTF-8');
  return withoutMark(bytes.toString('utf8'));
}

const withoutMark = (text: string): string => (text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);

function parseText(text: string, maxValues?: number): unknown {
  if (text === '') return {};
  try {
    return parseUntrustedJson(text, maxValues);
  } catch (error) {
    if (error instanceof JsonTooComplex)
      throw invalid(error.path, error.path === '' ? `the body ${error.message}` : error.message);
    throw refusedBody(error);
  }
}

/** Translates an error of reading; defects of the reader itself are passed on. */
function refusedBody(error: unknown): unknown {
  const { status, errno, type, limit } = error as {
    status?: number;
    errno?: number;
    type?: string;
    limit?: number;
  };
  if (status === 413) return tooLarge(limit ?? BODY_LIMIT);
  if (status === 415)
    return new ApiError('UNSUPPORTED_MEDIA_TYPE', 'The body is in an unknown Content-Encoding');
  // zlib errors, for a body that is not in the declared encoding, have an `errno` and no `status`.
  // A client that disconnects mid-request leaves a stream that cannot be read.
  const hungUp = type === 'stream.not.readable';
  const unreadable = status === 400 || errno !== undefined || hungUp || error instanceof SyntaxError;
  return unreadable ? new ApiError('INVALID_JSON') : error;
}

/** @param limit in bytes. */
const tooLarge = (limit: number): ApiError =>
  new ApiError(
    'BODY_TOO_LARGE',
    limit < BODY_LIMIT ? `The body is larger than ${limit / 1024} KB` : undefined,
  );

/**
 * Reads the raw body, for verifying signatures.
 * @param limit in bytes.
 * @throws BODY_TOO_LARGE.
 */
export async function readRawBytes(context: Pick<Exchange, 'req'>, limit = BODY_LIMIT): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of context.req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Like `readRawBytes`, decoded as UTF-8; invalid bytes are replaced. */
export async function readRawBody(context: Pick<Exchange, 'req'>, limit?: number): Promise<string> {
  return (await readRawBytes(context, limit)).toString('utf8');
}

/** Reads the form of a page. @throws BODY_TOO_LARGE. */
export async function readForm(context: Koa.Context): Promise<URLSearchParams> {
  return new URLSearchParams(await readRawBody(context, FORM_LIMIT));
}
