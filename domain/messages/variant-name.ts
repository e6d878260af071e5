import { z } from 'zod';

/** The names of the A/B variants of a campaign step, by position. */
export const VARIANT_NAMES = ['A', 'B', 'C', 'D'] as const;
export const VariantName = z.enum(VARIANT_NAMES).meta({ id: 'VariantName' });
export type VariantName = z.infer<typeof VariantName>;
