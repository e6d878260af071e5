import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { ALLOWED_EXTENSIONS, contentMatchesName, mediaTypeOf } from '#domain/attachment-type.ts';
import { FileTooLarge, type Storage } from '#providers/storage/storage.ts';
import { Unreadable } from '#providers/untrusted/processes.ts';
import { ApiError, invalid } from './http/errors.ts';
import { discardRest, type IncomingFile, readUpload } from './http/upload.ts';

/** The largest file that is accepted, in bytes. */
export const MAX_UPLOAD_BYTES = 25 * 1024 * 1024;
/** What a form needs around its file, at the most. */
const FORM_OVERHEAD = 64 * 1024;
/** `file-type` tells by this much of a file's beginning. */
const HEAD_BYTES = 4100;

export interface ReceivedFile {
  name: string;
  size: number;
  /** As the client reported it. */
  reportedType: string | null;
  /** What the file is, by its name. */
  contentType: string;
  /** Of the name and the content. */
  fingerprint: string;
}

/** What the beginning of a file is. */
type TypeOf = (head: Uint8Array) => Promise<{ ext: string; mime: string } | null>;

/** Where a file goes, and how it is looked at. */
interface Destination {
  storage: Storage;
  key: string;
  typeOf: TypeOf;
}

/**
 * Streams the file of an upload form into storage; a file that is refused is not kept there.
 * @throws ApiError for a file that is too large, or of a type that is not accepted.
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
    await storage.delete(key);
    throw error;
  }
}

async function store(
  file: IncomingFile,
  { storage, key, typeOf }: Destination,
  declared: number | null,
): Promise<ReceivedFile> {
  const name = (file.name ?? '').replaceAll(/\p{Cc}/gu, '').trim();
  if (name === '') throw invalid('file', 'no file was provided');
  const contentType = mediaTypeOf(name);
  if (contentType === null)
    throw invalid('file', `this type of file is not allowed; allowed are: ${ALLOWED_EXTENSIONS.join(', ')}`);

  const hash = createHash('sha256').update(`${name}\n`);
  const content = Readable.from(checked(file.content, { name, hash, typeOf }), { objectMode: false });
  const size = await storage.put(key, content, MAX_UPLOAD_BYTES, contentType).catch((error: unknown) => {
    throw error instanceof FileTooLarge ? tooLarge(declared) : error;
  });
  if (size === 0) throw new ApiError('VALIDATION_ERROR', 'File is empty.');
  // The parser's default: of a part that has no Content-Type of its own.
  const reportedType = file.contentType === 'text/plain' ? null : file.contentType;
  return { name, size, reportedType, contentType, fingerprint: hash.digest('hex') };
}

/**
 * Passes a file on, unless its beginning shows that it is something else than its name says. Content that nothing is
 * recognized in passes: files are saved, never shown, under our own origin.
 */
async function* checked(
  source: Readable,
  { name, hash, typeOf }: { name: string; hash: ReturnType<typeof createHash>; typeOf: TypeOf },
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
    await checkContent(head, name, typeOf);
    yield head;
    head = null;
  }
  if (head === null || head.length === 0) return;
  await checkContent(head, name, typeOf);
  yield head;
}

async function checkContent(head: Buffer, name: string, typeOf: TypeOf): Promise<void> {
  const found = await typeOf(head).catch((error: unknown) => {
    throw error instanceof Unreadable ? invalid('file', 'its content cannot be read') : error;
  });
  if (found && !contentMatchesName(name, found.ext)) {
    throw invalid('file', `its content is ${found.mime}, which is not what its name says`);
  }
}

function tooLarge(declared: number | null): ApiError {
  const size = declared === null ? 'larger than 25' : (declared / 1024 / 1024).toFixed(1);
  return new ApiError('BODY_TOO_LARGE', `The file is ${size} MB; attachments must be under 25 MB`);
}

/** Of the whole body, which is hardly more than its file; null when the caller did not tell. */
function declaredSize(raw: IncomingMessage): number | null {
  const length = raw.headers['content-length'];
  return length === undefined ? null : Number(length);
}
