import { textProblem } from '#domain/text.ts';
import type { Issue } from './errors.ts';

/** Deeper than any field of the API. Bounds the recursion of everything that traverses the value. */
const MAX_DEPTH = 100;

/**
 * Finds text that PostgreSQL cannot store: NUL and lone surrogates.
 * @returns the first value or name that has any, or is nested too deeply; null if there is none.
 */
export function unstorable(value: unknown, path: string[] = []): Issue | null {
  if (typeof value === 'string') {
    const message = textProblem(value);
    return message === null ? null : { path: path.join('.'), message };
  }
  if (value === null || typeof value !== 'object') return null;
  if (path.length === MAX_DEPTH) return { path: path[0] ?? '', message: 'is nested too deeply' };
  for (const [name, field] of Object.entries(value)) {
    const message = textProblem(name);
    if (message !== null) return { path: path.join('.'), message };
    const found = unstorable(field, [...path, name]);
    if (found !== null) return found;
  }
  return null;
}
