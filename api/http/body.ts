import { isUtf8 } from 'node:buffer';
import { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Context } from 'koa';
import { nextTurn } from '#domain/base/turns.ts';
import { JsonTooComplex, parseUntrustedJson } from '#domain/base/untrusted-json.ts';
import { ApiError, invalid } from './errors.ts';

const BODY_LIMIT = 1024 * 1024;
/** The limit for JSON without a credential, in bytes. */
const ANONYMOUS_BODY_LIMIT = 4096;
/** The limit for HTML forms, which may contain a session token, in bytes. */
const FORM_LIMIT = 16 * 1024;
/** The length in characters from which a text is parsed and validated in separate turns of the event loop. */
const LARGE = 32 * 1024;

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
  context: Context,
  { maxValues, admit, csvField }: BodyBounds = {},
): Promise<unknown> {
  if (csvField !== undefined && context.is('text/csv')) return { [csvField]: await readCsv(context) };
  const text = decode(await readJson(context, BODY_LIMIT));
  await admit?.(text.length);
  const isLarge = text.length > LARGE;
  if (isLarge) await nextTurn();
  const body = parseText(text, maxValues);
  if (isLarge) await nextTurn();
  return body;
}

/** @throws BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, VALIDATION_ERROR */
async function readCsv(context: Context): Promise<string> {
  if (context.get('content-encoding') !== '')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed');
  return withoutMark(await readUtf8Body(context));
}

/**
 * Reads the JSON body of a request that anybody may send: 4 KB, not compressed.
 * @throws as `readBody` does.
 */
export async function readAnonymousBody(context: Context): Promise<unknown> {
  if (context.get('content-encoding') !== '')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed');
  return parseText(decode(await readJson(context, ANONYMOUS_BODY_LIMIT)));
}

async function readJson(context: Context, limit: number): Promise<Buffer> {
  const hasBody = (context.request.length ?? 0) > 0 || context.get('transfer-encoding') !== '';
  if (!hasBody) return Buffer.alloc(0);
  if (!context.is('json')) throw new ApiError('UNSUPPORTED_MEDIA_TYPE');
  return readStream(decompressed(context), limit);
}

const DECOMPRESSORS = new Map<string, () => NodeJS.ReadWriteStream & Readable>([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** @throws UNSUPPORTED_MEDIA_TYPE */
function decompressed(context: Context): Readable {
  const { req } = context;
  const encoding = context.get('content-encoding').toLowerCase();
  if (['', 'identity'].includes(encoding)) return req;
  const decompressor = DECOMPRESSORS.get(encoding)?.();
  if (!decompressor)
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'The body is in an unknown Content-Encoding');
  if (req.destroyed) decompressor.destroy();
  req.on('close', () => req.complete || decompressor.destroy());
  return req.pipe(decompressor);
}

/**
 * Reads a body as a whole. The rest of one that is refused stays unread: if the stream were destroyed, the client would not get
 * the response.
 * @param limit in bytes.
 * @throws BODY_TOO_LARGE; INVALID_JSON if the body ends early or is not in its encoding.
 */
async function readStream(stream: Readable, limit: number): Promise<Buffer> {
  // Without waiting for what is announced, which the client may send only after the response.
  if (stream instanceof IncomingMessage && Number(stream.headers['content-length']) > limit)
    throw tooLarge(limit);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size <= limit) return void chunks.push(chunk);
      stream.off('data', take).pause();
      reject(tooLarge(limit));
    };
    const fail = (): void => reject(new ApiError('INVALID_JSON'));
    // The client may have gone before, which is not reported again.
    if (stream.destroyed) return fail();
    stream.on('data', take).on('error', fail).on('close', fail);
    stream.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
  });
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
    if (error instanceof SyntaxError) throw new ApiError('INVALID_JSON');
    throw error;
  }
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
const readRawBytes = ({ req }: Pick<Context, 'req'>, limit = BODY_LIMIT): Promise<Buffer> =>
  readStream(req, limit);

/** The raw body as text. A signature is over its bytes, which replacing invalid ones would change. @throws BODY_TOO_LARGE, VALIDATION_ERROR */
export async function readUtf8Body(context: Pick<Context, 'req'>): Promise<string> {
  const bytes = await readRawBytes(context);
  if (!isUtf8(bytes)) throw invalid('', 'the body is not UTF-8 text');
  return bytes.toString('utf8');
}

/** Like `readRawBytes`, decoded as UTF-8; invalid bytes are replaced. */
export async function readRawBody(context: Pick<Context, 'req'>, limit?: number): Promise<string> {
  return (await readRawBytes(context, limit)).toString('utf8');
}

/** Reads the form of a page. @throws BODY_TOO_LARGE. */
export async function readForm(context: Context): Promise<URLSearchParams> {
  return new URLSearchParams(await readRawBody(context, FORM_LIMIT));
}
