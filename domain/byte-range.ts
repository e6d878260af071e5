/** Bytes of a file, both ends included. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * What a `Range` header asks for (RFC 9110 §14). Several ranges at once, other units and what cannot be read are as
 * good as no header: the whole file.
 * @returns null for the whole file, `unsatisfiable` where nothing of it is asked for.
 */
export function readRange(header: string, size: number): ByteRange | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header) ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const start = Math.max(0, size - Number(last));
    return start < size ? { start, end: size - 1 } : 'unsatisfiable';
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return null;
  return start < size ? { start, end } : 'unsatisfiable';
}
