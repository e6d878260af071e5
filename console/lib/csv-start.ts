import { csvDialect } from '#domain/shared/csv-dialect.ts';

/** The first rows of a CSV file, as far as they are needed to choose what its columns are. */
export interface CsvStart {
  header: string[];
  /** The row after it. */
  example: string[];
  delimiter: string;
  encoding: Encoding;
  /** Where the header ends in the file. */
  headerBytes: number;
}

type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be';

/** Longer than any header. */
const READ_BYTES = 65_536;

/** UTF-16 begins with a byte order mark. */
function encodingOf([first, second]: Uint8Array): Encoding {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}

function encode(text: string, encoding: Encoding): Uint8Array<ArrayBuffer> {
  if (encoding === 'utf-8') return new TextEncoder().encode(text);
  const bytes = new DataView(new ArrayBuffer(2 * text.length));
  for (let at = 0; at < text.length; at += 1)
    bytes.setUint16(2 * at, text.charCodeAt(at), encoding === 'utf-16le');
  return new Uint8Array(bytes.buffer);
}

/** @returns null if the first row is empty or does not end. */
export async function readCsvStart(file: Blob): Promise<CsvStart | null> {
  const bytes = new Uint8Array(await file.slice(0, READ_BYTES).arrayBuffer());
  const encoding = encodingOf(bytes);
  // Keeps a byte order mark, because the position of the header is counted from the start.
  const text = new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes);
  const { delimiter, headerStart } = csvDialect(text);
  const header = readRow(text, headerStart, delimiter);
  if (header.cells.every((cell) => cell === '') || (header.end >= text.length && file.size > READ_BYTES))
    return null;
  return {
    header: header.cells,
    example: readRow(text, header.end, delimiter).cells,
    delimiter,
    encoding,
    headerBytes: encode(text.slice(0, header.end), encoding).length,
  };
}

/** Reads one row from a position. Quoted cells may contain delimiters, line breaks and doubled quotes. */
function readRow(text: string, start: number, delimiter: string): { cells: string[]; end: number } {
  const cells: string[] = [];
  let cell = '';
  let quoted = false;
  let at = start;
  for (; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"' && quoted && text[at + 1] === '"') {
      cell += '"';
      at += 1;
    } else if (character === '"' && (quoted || cell.trim() === '')) quoted = !quoted;
    else if (quoted) cell += character;
    else if (character === delimiter) {
      cells.push(cell.trim());
      cell = '';
    } else if (character === '\n' || character === '\r') break;
    else cell += character;
  }
  const lineEnd = text.startsWith('\r\n', at) ? 2 : 1;
  return { cells: [...cells, cell.trim()], end: Math.min(text.length, at + lineEnd) };
}

/** The file with renamed columns: the API identifies columns by their names. */
export function renameColumns(file: Blob, start: CsvStart, names: readonly string[]): Blob {
  const header = names.map((name) => `"${name.replaceAll('"', '""')}"`).join(start.delimiter);
  const mark = start.encoding === 'utf-8' ? '' : '\uFEFF';
  const parts = [encode(`${mark}${header}\n`, start.encoding), file.slice(start.headerBytes)];
  return new Blob(parts, { type: 'text/csv' });
}
