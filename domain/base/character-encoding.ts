import { plausibility } from './letter-plausibility.ts';

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
/** A longer line is decoded in parts, so that it does not fill the memory. No row of an import may be as long. */
const MAX_LINE_BYTES = 800_000;
/** What is looked at to find the encoding of a file. */
const SAMPLE_BYTES = 16 * 1024;
/** What is decoded in one piece of work. */
const PART_BYTES = 32 * 1024;

// A byte order mark stays in the text, where the parsers of files expect it. A fatal decoder would take longer for an exception than for a line.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const windows1252 = new TextDecoder('windows-1252');
const macRoman = new TextDecoder('macintosh');

/**
 * Decodes a text file of unknown encoding, in parts of whole lines. UTF-16 begins with a byte order mark, or its characters of one byte
 * show as zeros. Otherwise a line is UTF-8 or, if it is not valid, Windows-1252 or Mac Roman, in which spreadsheets on Windows and
 * macOS save files by default. Each line counts for itself, because people append to files with other programs.
 */
export async function* decodeText(file: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  let decoder: PartDecoder | null = null;
  for await (const part of inParts(file)) {
    rest = Buffer.concat([rest, part]);
    if (!decoder && rest.length < SAMPLE_BYTES) continue;
    decoder ??= decoderOf(rest.subarray(0, SAMPLE_BYTES));
    const end = decoder.wholeBytes(rest);
    yield decoder.decode(rest.subarray(0, end));
    rest = rest.subarray(end);
  }
  decoder ??= decoderOf(rest);
  yield decoder.decode(rest) + decoder.end();
}

async function* inParts(file: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of file)
    for (let at = 0; at < chunk.length; at += PART_BYTES) yield chunk.subarray(at, at + PART_BYTES);
}

interface PartDecoder {
  /** How many of these bytes can be decoded before further ones are known. */
  wholeBytes: (bytes: Buffer) => number;
  decode: (bytes: Buffer) => string;
  end: () => string;
}

function decoderOf(sample: Buffer): PartDecoder {
  const utf16 = utf16Of(sample);
  if (utf16 !== null) {
    const decoder = new TextDecoder(utf16, { ignoreBOM: true });
    return {
      wholeBytes: ({ length }) => length,
      decode: (bytes) => decoder.decode(bytes, { stream: true }),
      end: () => decoder.decode(),
    };
  }
  const other = otherThanUtf8(sample);
  return { wholeBytes: endOfLines, decode: (bytes) => decodeLines(bytes, other), end: () => '' };
}

/** By the byte order mark, or by the zeros of separators, line ends and Latin letters; null: it is not UTF-16. */
function utf16Of(sample: Buffer): 'utf-16le' | 'utf-16be' | null {
  const [first, second] = sample;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const zeros = [0, 0];
  for (let at = sample.indexOf(0); at !== -1; at = sample.indexOf(0, at + 1)) zeros[at % 2]! += 1;
  const [even = 0, odd = 0] = zeros;
  // A zero here and there is no letter.
  if (Math.max(even, odd) < sample.length / 8 || Math.min(even, odd) > Math.max(even, odd) / 4) return null;
  return odd > even ? 'utf-16le' : 'utf-16be';
}

/** The encoding of the lines that are not UTF-8. */
function otherThanUtf8(sample: Buffer): typeof windows1252 {
  const whole = sample.length < SAMPLE_BYTES ? sample : sample.subarray(0, endOfLines(sample));
  const others = Buffer.concat([...linesOf(whole)].filter((line) => !isUtf8(line)));
  const plausible = (decoder: typeof windows1252): number => plausibility(decoder.decode(others));
  const [mac, windows] = [plausible(macRoman), plausible(windows1252)];
  // Some programs on macOS still end lines as before it, with carriage returns.
  const isOld = sample.includes(CARRIAGE_RETURN) && !sample.includes(LINE_FEED);
  return mac > windows || (isOld && mac === windows) ? macRoman : windows1252;
}

/** The end of the last line that is complete, or of all bytes if the rest is too long to wait for its end. */
function endOfLines(bytes: Buffer): number {
  const end = Math.max(bytes.lastIndexOf(LINE_FEED), bytes.lastIndexOf(CARRIAGE_RETURN)) + 1;
  return bytes.length - end > MAX_LINE_BYTES ? bytes.length : end;
}

function* linesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length;) {
    const feed = bytes.indexOf(LINE_FEED, start);
    const end = feed === -1 ? bytes.length : feed + 1;
    yield bytes.subarray(start, end);
    start = end;
  }
}

function decodeLines(bytes: Buffer, other: typeof windows1252): string {
  const text = decodeUtf8(bytes);
  if (text !== null) return text;
  let decoded = '';
  // Consecutive lines in the same encoding are decoded together.
  let run = { start: 0, end: 0, decoder: utf8 };
  for (const line of linesOf(bytes)) {
    const decoder = isUtf8(line) ? utf8 : other;
    if (decoder !== run.decoder) {
      decoded += run.decoder.decode(bytes.subarray(run.start, run.end));
      run = { start: run.end, end: run.end, decoder };
    }
    run.end += line.length;
  }
  return decoded + run.decoder.decode(bytes.subarray(run.start, run.end));
}

/** @returns null if the bytes are not valid UTF-8. */
function decodeUtf8(bytes: Buffer): string | null {
  const text = utf8.decode(bytes);
  return Buffer.from(text).equals(bytes) ? text : null;
}

const isUtf8 = (bytes: Buffer): boolean => decodeUtf8(bytes) !== null;

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
