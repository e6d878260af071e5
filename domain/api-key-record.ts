import { z } from 'zod';
import { Id } from './ids.ts';
import { SINGLE_LINE } from './text.ts';

/** A key as lists return it; the key itself is returned once, when it is created. */
export const ApiKeyRecord = z
  .object({
    _id: Id,
    name: z.string(),
    prefix: z.string(),
    last4: z.string(),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().nullable(),
    expiresAt: z.iso.datetime().nullable(),
    revokedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'ApiKey' });
export type ApiKeyRecord = z.infer<typeof ApiKeyRecord>;

export const ApiKeyInput = z
  .object({
    name: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .refine(...SINGLE_LINE),
    expiresAt: z.iso.datetime({ offset: true }).nullable().optional(),
  })
  .meta({ id: 'ApiKeyInput' });
