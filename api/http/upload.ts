import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import { FileTooLarge } from '#providers/storage/storage.ts';
import { ApiError, invalid } from './errors.ts';

/** A streamed file, which is never in memory as a whole. */
export interface IncomingFile {
  content: Readable;
  /** The file name of a form part; null for a plain body. */
  name: string | null;
  contentType: string | null;
}

/** How long a caller whose file was refused may keep sending before the connection is closed. */
const DRAIN_MS = 10_000;
/** The maximum number of parts of a form. Further parts are not read, because they would take long. */
const MAX_PARTS = 30;

/**
 * Passes the file of a request to `store`: the body if it is of `bodyType`, or the part `file` of a form.
 * @throws UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE, INCOMPLETE_BODY, or VALIDATION_ERROR if there is no file.
 */
export async function readUpload<T>(
  raw: IncomingMessage,
  { bodyType, limit }: { bodyType?: string; limit: number },
  store: (file: IncomingFile) => Promise<T>,
): Promise<T> {
  // The sender may have disconnected before, which is not reported again.
  if (raw.destroyed) throw new ApiError('INCOMPLETE_BODY');
  const type = (raw.headers['content-type'] ?? '').toLowerCase();
  const isForm = type.startsWith('multipart/form-data');
  if (!isForm && (bodyType === undefined || !type.startsWith(bodyType))) {
    const accepted = ['multipart/form-data with a file field', ...(bodyType === undefined ? [] : [bodyType])];
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', `The body must be ${accepted.join(' or ')}`);
  }
  try {
    return await (isForm
      ? readForm(raw, store)
      : store({ content: detached(raw), name: null, contentType: bodyType ?? null }));
  } catch (error) {
    discardRest(raw);
    if (!(error instanceof FileTooLarge)) throw error;
    throw new ApiError('BODY_TOO_LARGE', `The file is larger than ${Math.round(limit / 1024 / 1024)} MB`);
  }
}

/** Whoever reads a stream gets its error. One that comes before somebody reads would end the process. */
const nobodyReadsYet = (): void => undefined;

/** Destroying the returned stream does not close the caller's connection, over which the error is still to be sent. */
function detached(raw: IncomingMessage): Readable {
  const content = new PassThrough();
  content.on('error', nobodyReadsYet);
  raw.on('close', () => {
    if (!raw.readableEnded) content.destroy(new ApiError('INCOMPLETE_BODY'));
  });
  return raw.pipe(content);
}

function readForm<T>(raw: IncomingMessage, store: (file: IncomingFile) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const form = parser(raw);
    let part: Readable | undefined;
    let stored: Promise<T> | undefined;
    const fail = (error: unknown): void => {
      part?.destroy();
      raw.unpipe(form);
      reject(error);
    };
    form.on('file', (field, content, name, _encoding, contentType) => {
      // A form that ends within a part emits its error on the part, too.
      content.on('error', nobodyReadsYet);
      if (field !== 'file' || part) {
        content.resume();
        return;
      }
      part = content;
      stored = store({ content, name, contentType });
      stored.catch(fail);
    });
    form.on('partsLimit', () => fail(invalid('', `the form has more than ${MAX_PARTS} parts`)));
    form.on('error', (error) => fail(unreadable(error)));
    form.on('finish', () =>
      stored ? stored.then(resolve, reject) : fail(invalid('file', 'no file was provided')),
    );
    raw.on('close', () => {
      if (!raw.readableEnded) fail(new ApiError('INCOMPLETE_BODY'));
    });
    raw.pipe(form);
  });
}

const unreadable = (error: unknown): ApiError =>
  invalid('', `the form cannot be read: ${error instanceof Error ? error.message : String(error)}`);

function parser(raw: IncomingMessage) {
  try {
    return new Busboy({
      headers: raw.headers as BusboyHeaders,
      limits: { fields: 20, fieldSize: 10_000, files: 10, parts: MAX_PARTS },
    });
  } catch (error) {
    throw unreadable(error);
  }
}

/** Discards the rest of the body, because most clients read the response only after they have sent everything. */
export function discardRest(raw: IncomingMessage): void {
  if (raw.complete || raw.destroyed) return;
  const timer = setTimeout(() => raw.socket.destroy(), DRAIN_MS);
  for (const end of ['end', 'close', 'error'] as const) raw.once(end, () => clearTimeout(timer));
  raw.unpipe();
  raw.resume();
}
