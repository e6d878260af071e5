import { z } from 'zod';

/** The parameter of lists that are searched by name. */
export const Search = z.string().trim().min(1).max(200).optional().meta({
  description: 'Matches any part of the name, without regard to case and accents.',
});
