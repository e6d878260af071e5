import { z } from 'zod';
import { NOT_BLANK, oneLine } from './text.ts';

/** A name and the like, which people give: one line in which there is something to see. */
export const requiredLine = (maxLength: number) =>
  z
    .string()
    .trim()
    .max(maxLength)
    .overwrite(oneLine)
    .refine(...NOT_BLANK);
