import { z } from 'zod';

/** A token that is sent in an HTTP header, which takes no other characters. White space around it was pasted with it. */
export const HeaderToken = z
  .string()
  .trim()
  .min(1)
  .max(1000)
  .regex(/^[\x21-\x7e]*$/, 'must be letters, digits and signs of ASCII, without spaces');
