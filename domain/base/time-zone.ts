import { z } from 'zod';
import { isTimeZone } from './calendar.ts';

/** The name of an IANA time zone. */
export const TimeZone = z
  .string()
  .refine(isTimeZone, 'must be an IANA time zone')
  // What the schema can tell of it.
  .meta({ pattern: String.raw`^[A-Za-z][\w+\-/]*$`, example: 'America/New_York' });
