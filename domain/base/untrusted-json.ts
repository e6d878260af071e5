import Bourne from '@hapi/bourne';
import { textProblem } from './text.ts';

/** Deeper than any field of the API or of a carrier. */
const MAX_DEPTH = 100;
/** More than any object has. Schemas check each name and value of a record, which is slow. */
const MAX_FIELDS = 1000;
/** More values than any body has, except lists of contacts. */
const MAX_VALUES = 12_000;

/** A JSON text that would take too long to process: nested too deeply, or with too many values. */
export class JsonTooComplex extends Error {
  override readonly name = 'JsonTooComplex';
  /** The outermost field or element that is too complex; '' if it is the whole text. */
  readonly path: string;

  constructor(message: string, path = '') {
    super(message);
    this.path = path;
  }
}

/**
 * Parses a JSON text of bounded complexity. Its structure is counted first, at a tenth of the cost of parsing it.
 * @throws JsonTooComplex; SyntaxError, also for fields named `__proto__`.
 */
export function parseUntrustedJson(text: string, maxValues = MAX_VALUES): unknown {
  refuseComplexity(text, maxValues);
  return Bourne.parse(text);
}

/** By depth: the commas so far, and whether it is an object. Shared, because to allocate them costs as much as to count. */
const commas = new Uint32Array(MAX_DEPTH + 1);
const isObject = new Uint8Array(MAX_DEPTH + 1);

/**
 * Counts brackets and commas outside of strings. A text that is not valid JSON may pass.
 * @throws JsonTooComplex
 */
export function refuseComplexity(text: string, maxValues: number): void {
  let values = 1;
  let depth = 0;
  commas[1] = 0;
  isObject[1] = 0;
  let fields = 0;
  let lastText = [0, 0];
  const place = (): string => (isObject[1] ? nameAt(text, lastText) : String(commas[1]));
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    switch (unit) {
      case QUOTE: {
        const end = endOfString(text, index);
        if (depth === 1) lastText = [index, end];
        index = end;
        break;
      }
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth += 1;
        values += 1;
        if (depth > MAX_DEPTH) throw new JsonTooComplex('is nested too deeply', place());
        commas[depth] = 0;
        isObject[depth] = unit === OPEN_OBJECT ? 1 : 0;
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
        fields = (commas[depth] ?? 0) + 1;
        commas[depth] = fields;
        if (isObject[depth] && fields >= MAX_FIELDS)
          throw new JsonTooComplex(`must have at most ${MAX_FIELDS} fields`, depth > 1 ? place() : '');
    }
    if (values > maxValues) throw new JsonTooComplex(`must have at most ${maxValues} values`);
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** @param start where its opening quote is. @returns where the closing one is, or the end of an incomplete text. */
function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === QUOTE) return index;
    if (unit === BACKSLASH) index += 1;
  }
  return text.length;
}

/** @returns the name that the string from `start` to `end` spells; '' if it is not valid. */
function nameAt(text: string, [start = 0, end = 0]: readonly number[]): string {
  try {
    return String(Bourne.parse(text.slice(start, end + 1)));
  } catch {
    return '';
  }
}

/** What cannot be accepted, and the names that lead to it from the outside in. */
export interface JsonProblem {
  path: string[];
  message: string;
}

/**
 * Finds what PostgreSQL cannot store (NUL, lone surrogates), in names and values. The path is built only when something is found.
 */
export function findUnstorable(value: unknown, depth = 0): JsonProblem | null {
  if (typeof value === 'string') return problemOf(textProblem(value));
  if (value === null || typeof value !== 'object') return null;
  // Also bounds the recursion, for values that were not parsed here.
  if (depth === MAX_DEPTH) return problemOf('is nested too deeply');
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const found = findUnstorable(value[index], depth + 1);
      if (found !== null) return within(String(index), found);
    }
    return null;
  }
  const names = Object.keys(value);
  if (names.length > MAX_FIELDS) return problemOf(`must have at most ${MAX_FIELDS} fields`);
  for (const name of names) {
    const message = textProblem(name);
    if (message !== null) return problemOf(message);
    const found = findUnstorable((value as Record<string, unknown>)[name], depth + 1);
    if (found !== null) return within(name, found);
  }
  return null;
}

const problemOf = (message: string | null): JsonProblem | null =>
  message === null ? null : { path: [], message };

const within = (name: string, { path, message }: JsonProblem): JsonProblem => ({
  path: [name, ...path],
  message,
});

/** Like `parseUntrustedJson`. @returns undefined for what is not JSON, or too complex. */
export function tryParseUntrustedJson(text: string): unknown {
  try {
    return parseUntrustedJson(text);
  } catch {
    return undefined;
  }
}
