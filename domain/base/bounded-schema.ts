import { z } from 'zod';
import { truncate } from './text.ts';

/**
 * Lists and texts of other services' data. zod checks each element of a `z.array` before its length, and records an issue
 * for each that is wrong, which takes seconds for a million of them. These count first.
 */

/** A list that is refused if it is longer. */
export const listOf = <T extends z.ZodType>(item: T, max: number) =>
  z.array(z.unknown()).max(max).pipe(z.array(item));

/** The first elements of a list. */
export const firstOf = <T extends z.ZodType>(item: T, max: number) =>
  z
    .array(z.unknown())
    .transform((list) => list.slice(0, max))
    .pipe(z.array(item));

/** The beginning of a text that is shown, searched or stored. */
export const textUpTo = (max: number) => z.string().transform((text) => truncate(text, max));
