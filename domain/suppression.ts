import { z } from 'zod';
import { normalizeAddress } from './address.ts';
import { truncate } from './text.ts';
import { takingTurns } from './turns.ts';

/** An address or a domain to which no client of an agency sends. */
export const Suppression = z
  .object({
    address: z.string().nullable(),
    domain: z.string().nullable(),
    reason: z.string().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Suppression' });
export type Suppression = z.infer<typeof Suppression>;

/** The most entries in one request. */
export const MAX_SUPPRESSIONS = 10_000;

const Named = {
  address: z.string().max(320).optional().meta({
    description: 'A phone number with its country code, or an email address.',
  }),
  domain: z.string().max(255).optional().meta({ example: 'example.com' }),
};

/** Names one suppression. */
export const SuppressionName = z.object(Named);

/** The body of `POST /api/agency/suppressions`. */
export const SuppressionInput = z
  .object({
    ...Named,
    reason: z.string().max(500).optional(),
    csv: z
      .string()
      .max(900_000)
      .optional()
      .meta({
        description: `Up to ${MAX_SUPPRESSIONS} lines with an address or a domain, and after a comma the reason. Instead of \`address\` or \`domain\`.`,
      }),
  })
  .meta({ id: 'SuppressionInput' });

const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/;

/** An entry as it is stored: an address, or a domain with its `@`; null if it is neither. Numbers need a country code. */
export function suppressionOf({ address, domain }: z.infer<typeof SuppressionName>): string | null {
  if (address !== undefined && domain === undefined) {
    const isNumber = !address.includes('@');
    return isNumber && !address.trim().startsWith('+') ? null : normalizeAddress(address, 'US');
  }
  const name = domain?.trim().toLowerCase().replace(/^@/, '') ?? '';
  return address === undefined && DOMAIN.test(name) ? `@${name}` : null;
}

/**
 * Reads a list of addresses and domains, in turns with other work. Quotes around a value, a heading and empty lines are ignored.
 * @returns the entries, or the number of the first line that is neither an address nor a domain.
 */
export async function readSuppressions(
  csv: string,
): Promise<{ value: string; reason: string | null }[] | { line: number }> {
  const entries: { value: string; reason: string | null }[] = [];
  for await (const [index, line] of takingTurns(csv.split(/\r\n|[\n\r]/).entries())) {
    const [name = '', ...rest] = line.split(/[,;\t]/).map((cell) => cell.trim().replaceAll(/^"|"$/g, ''));
    if (name === '' || (index === 0 && /^(?:address|domain|email|phone)$/i.test(name))) continue;
    const isAddress = name.startsWith('+') || /[^@]@/.test(name);
    const value = suppressionOf(isAddress ? { address: name } : { domain: name });
    if (value === null || entries.length === MAX_SUPPRESSIONS) return { line: index + 1 };
    const reason = truncate(rest.join(', '), 500);
    entries.push({ value, reason: reason === '' ? null : reason });
  }
  return entries;
}
