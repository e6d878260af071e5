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

/** The elements that can be read, of the first ones of a list. */
export const readableOf = <T extends z.ZodType>(item: T, max: number) =>
  z.array(z.unknown()).transform((list) =>
    list.slice(0, max).flatMap((raw) => {
      const { success, data } = item.safeParse(raw);
      return success ? [data] : [];
    }),
  );

/** A field that says nothing decisive: if it is in another form than expected, it is like one that is absent. */
export const readable = <T extends z.ZodType>(field: T) => field.nullish().catch(null);

/** A number, which some services write as a text. */
export const numeric = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d{1,15}$/)
    .transform(Number),
]);

/** The beginning of a text that is shown, searched or stored. */
export const textUpTo = (max: number) => z.string().transform((text) => truncate(text, max));
