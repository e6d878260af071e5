import { Readable } from 'node:stream';

/** A part of a file, both ends included. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Reads a `Range` header (RFC 9110 §14.1.2).
 * @param size of the whole file, in bytes.
 * @returns null: the whole file is to be sent, which also answers several parts at once and what is no range;
 * `unsatisfiable`: the file has nothing there.
 */
export function byteRange(header: string, size: number): ByteRange | 'unsatisfiable' | null {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header.trim()) ?? [];
  if (from === '' && to === '') return null;
  if (from !== '' && to !== '' && Number(to) < Number(from)) return null;
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return start > end ? 'unsatisfiable' : { start, end };
}

/** The part of a stream; what comes after it is not read. */
export const partOf = (content: Readable, range: ByteRange): Readable =>
  Readable.from(chunks(content, range));

async function* chunks(content: AsyncIterable<Buffer>, { start, end }: ByteRange): AsyncGenerator<Buffer> {
  let at = 0;
  for await (const chunk of content) {
    const part = chunk.subarray(Math.max(0, start - at), end + 1 - at);
    at += chunk.length;
    if (part.length > 0) yield part;
    if (at > end) return;
  }
}
