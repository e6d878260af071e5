import { z } from 'zod';
import { Id } from '../base/ids.ts';

/** How long a person may take to answer their authenticator, in minutes. */
export const CHALLENGE_MINUTES = 5;
/** The maximum number of passkeys of a person. */
export const MAX_PASSKEYS = 20;

/** A passkey of a person. */
export const Passkey = z
  .object({
    _id: Id,
    name: z.string(),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Passkey' });
export type Passkey = z.infer<typeof Passkey>;
