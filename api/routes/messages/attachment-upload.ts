import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { withoutTurns } from '#domain/base/text.ts';
import { ALLOWED_EXTENSIONS, isAllowedContent, mediaTypeOf } from '#domain/messages/attachment-type.ts';
import { FileTooLarge, type Storage } from '#providers/storage/storage.ts';
import { Unreadable } from '#providers/untrusted/processes.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { discardRest, type IncomingFile, readUpload } from '#api/http/upload.ts';

const MAX_UPLOAD_BYTES = 25 * 1024 * 1024;
/** The maximum size that a multipart form adds to its file. */
const FORM_OVERHEAD = 64 * 1024;
/** How much of a file `file-type` needs to detect its type. */
const HEAD_BYTES = 4100;

export interface ReceivedFile {
  name: string;
  size: number;
  /** The type that the client reported. */
  reportedType: string | null;
  /** By the extension of its name. */
  contentType: string;
  /** SHA-256 of the name and the content. */
  fingerprint: string;
}

/** Detects the type of a file from its first bytes. */
type TypeOf = (head: Uint8Array) => Promise<{ ext: string; mime: string } | null>;

interface Destination {
  storage: Storage;
  key: string;
  typeOf: TypeOf;
}

/**
 * Streams the file of an upload form into storage. A file that is refused is deleted again.
 * @throws ApiError if the file is too large or its type is not allowed.
 */
export async function receiveFile(
  raw: IncomingMessage,
  { storage, key, typeOf }: Destination,
): Promise<ReceivedFile> {
  if (!/^multipart\/form-data\s*;.*boundary=/i.test(raw.headers['content-type'] ?? '')) {
    throw invalid('', 'The body must be multipart/form-data with a file field');
  }
  const declared = declaredSize(raw);
  if (declared !== null && declared > MAX_UPLOAD_BYTES + FORM_OVERHEAD) {
    discardRest(raw);
    throw tooLarge(declared);
  }
  try {
    return await readUpload(raw, { limit: MAX_UPLOAD_BYTES }, (file) =>
      store(file, { storage, key, typeOf }, declared),
    );
  } catch (error) {
    // Usually nothing is stored. What matters to the caller is why it is not.
    await storage.delete(key).catch(() => {});
    throw error;
  }
}

async function store(
  file: IncomingFile,
  { storage, key, typeOf }: Destination,
  declared: number | null,
): Promise<ReceivedFile> {
  const name = withoutTurns(file.name ?? '')
    .replaceAll(/\p{Cc}/gu, '')
    .trim();
  if (name === '') throw invalid('file', 'no file was provided');
  const contentType = mediaTypeOf(name);
  if (contentType === null)
    throw invalid('file', `this file type is not allowed; use one of: ${ALLOWED_EXTENSIONS.join(', ')}`);

  const hash = createHash('sha256').update(`${name}\n`);
  const content = Readable.from(checked(file.content, { hash, typeOf }), { objectMode: false });
  const size = await storage.put(key, content, MAX_UPLOAD_BYTES, contentType).catch((error: unknown) => {
    throw error instanceof FileTooLarge ? tooLarge(declared) : error;
  });
  if (size === 0) throw new ApiError('VALIDATION_ERROR', 'File is empty.');
  // `text/plain` is the parser's default for a part without a Content-Type.
  const reportedType = file.contentType === 'text/plain' ? null : file.contentType;
  return { name, size, reportedType, contentType, fingerprint: hash.digest('hex') };
}

/**
 * Passes a file through, or throws if its content may not be sent. Content of an unknown type passes, because
 * files are only ever downloaded from our origin, never displayed.
 */
async function* checked(
  source: Readable,
  { hash, typeOf }: { hash: ReturnType<typeof createHash>; typeOf: TypeOf },
) {
  let head: Buffer | null = Buffer.alloc(0);
  for await (const chunk of source as AsyncIterable<Buffer>) {
    hash.update(chunk);
    if (head === null) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < HEAD_BYTES) continue;
    await checkContent(head, typeOf);
    yield head;
    head = null;
  }
  if (head === null || head.length === 0) return;
  await checkContent(head, typeOf);
  yield head;
}

async function checkContent(head: Buffer, typeOf: TypeOf): Promise<void> {
  const found = await typeOf(head).catch((error: unknown) => {
    throw error instanceof Unreadable ? invalid('file', 'the content cannot be read') : error;
  });
  if (found && !isAllowedContent(found.ext))
    throw invalid('file', `the content is ${found.mime}, which is not allowed`);
}

function tooLarge(declared: number | null): ApiError {
  const size = declared === null ? 'larger than 25' : (declared / 1024 / 1024).toFixed(1);
  return new ApiError('BODY_TOO_LARGE', `The file is ${size} MB; attachments must be under 25 MB`);
}

/** The `Content-Length`, which is slightly more than the size of the file; null if it was not sent. */
function declaredSize(raw: IncomingMessage): number | null {
  const length = raw.headers['content-length'];
  return length === undefined ? null : Number(length);
}
