import { z } from 'zod';

/** Certificate authorities of a line's servers besides the public ones, in PEM format. @param whose for example `mail servers`. */
export const caCertificatesOf = (whose: string) =>
  z
    .string()
    .max(100_000)
    .refine((pem) => pem.includes('-----BEGIN CERTIFICATE-----'), 'must be a certificate in PEM format')
    .optional()
    .meta({
      description: `The certificates of the authority that signed those of the ${whose}, in PEM format, if it is not a public one.`,
    });
