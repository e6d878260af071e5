const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
/** The byte order marks of the encodings whose text is not read by lines. */
const UTF_16_MARKS: Record<string, Buffer> = {
  'utf-16le': Buffer.from([0xff, 0xfe]),
  'utf-16be': Buffer.from([0xfe, 0xff]),
};
const MARK_BYTES = 2;
/** A longer line is decoded in parts, so that it does not fill the memory. No row of an import may be as long. */
const MAX_LINE_BYTES = 800_000;

// A byte order mark stays in the text, where the parsers of files expect it.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const windows1252 = new TextDecoder('windows-1252');

/**
 * Decodes a text file of unknown encoding, in parts of whole lines. UTF-16 begins with a byte order mark. Otherwise a line
 * is UTF-8 or, if it is not valid, Windows-1252, in which spreadsheets on Windows save files by default. Each line counts
 * for itself, because people append to files with other programs.
 */
export async function* decodeText(file: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  /** null: not UTF-16. */
  let utf16: Utf16 | null | undefined;
  for await (const chunk of file) {
    const bytes = Buffer.concat([rest, chunk]);
    if (utf16 === undefined && bytes.length >= MARK_BYTES) utf16 = utf16Decoder(bytes);
    const end = utf16 ? bytes.length : endOfLines(bytes);
    const whole = bytes.subarray(0, end);
    rest = bytes.subarray(end);
    yield utf16 ? utf16.decode(whole, { stream: true }) : decodeLines(whole);
  }
  yield utf16 ? utf16.decode() : decodeLines(rest);
}

type Utf16 = InstanceType<typeof TextDecoder>;

function utf16Decoder(start: Buffer): Utf16 | null {
  const found = Object.entries(UTF_16_MARKS).find(([, mark]) => start.subarray(0, MARK_BYTES).equals(mark));
  return found ? new TextDecoder(found[0], { ignoreBOM: true }) : null;
}

/** The end of the last line that is complete, or of all bytes if the rest is too long to wait for its end. */
function endOfLines(bytes: Buffer): number {
  const end = Math.max(bytes.lastIndexOf(LINE_FEED), bytes.lastIndexOf(CARRIAGE_RETURN)) + 1;
  return bytes.length - end > MAX_LINE_BYTES ? bytes.length : end;
}

function decodeLines(bytes: Buffer): string {
  const text = decodeUtf8(bytes);
  if (text !== null) return text;
  let decoded = '';
  for (let start = 0; start < bytes.length;) {
    const feed = bytes.indexOf(LINE_FEED, start);
    const end = feed === -1 ? bytes.length : feed + 1;
    const line = bytes.subarray(start, end);
    decoded += decodeUtf8(line) ?? windows1252.decode(line);
    start = end;
  }
  return decoded;
}

/** @returns null if the bytes are not valid UTF-8. */
function decodeUtf8(bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** The bytes of Windows-1252, by character. */
const WINDOWS_1252_BYTES = new Map(
  Array.from({ length: 256 }, (_, byte) => [windows1252.decode(Uint8Array.of(byte)), byte]),
);

/** Undoes the decoding of UTF-8 as Windows-1252 (`GrÃ¼ÃŸe`), which happens to text with a wrong label. Other text stays. */
export function withoutMojibake(text: string): string {
  if (!/[\u00C2-\u00F4][\u0080-\u00BF\u0152-\u2122]/.test(text)) return text;
  const bytes: number[] = [];
  for (const character of text) {
    const byte = WINDOWS_1252_BYTES.get(character);
    if (byte === undefined) return text;
    bytes.push(byte);
  }
  return decodeUtf8(Buffer.from(bytes)) ?? text;
}

/** UTF-8, or as which the bytes are valid otherwise: Windows-1252. */
export const decodeBytes = (bytes: Buffer): string => decodeUtf8(bytes) ?? windows1252.decode(bytes);
