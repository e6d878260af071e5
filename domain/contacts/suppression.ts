import { z } from 'zod';
import { normalizeAddress, normalizeDomain } from '../base/address.ts';
import { normalize, truncate } from '../base/text.ts';
import { yielding } from '../base/turns.ts';

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
        description: `Up to ${MAX_SUPPRESSIONS} lines with an address or a domain, and after a comma the reason. A first line may name the columns, for example \`address,domain,reason\`. Instead of \`address\` or \`domain\`.`,
      }),
  })
  .meta({ id: 'SuppressionInput' });

const MAX_NAME = 320;
/** Before the first digit, however it is written. */
const hasCountryCode = (text: string): boolean => /^\P{Nd}*\+/u.test(normalize(text, 'NFKC', MAX_NAME));

/** An entry as it is stored: an address, or a domain with its `@`; null if it is neither. Numbers need a country code. */
export function suppressionOf({ address, domain }: z.infer<typeof SuppressionName>): string | null {
  if (address !== undefined && domain === undefined) {
    const isNumber = !address.includes('@');
    return isNumber && !hasCountryCode(address) ? null : normalizeAddress(address, 'US');
  }
  const name = address === undefined ? normalizeDomain(domain?.trim().replace(/^@/, '') ?? '') : null;
  return name === null ? null : `@${name}`;
}

/** The columns that a heading may name: of a row's addresses and domains, and of its reason. Others are ignored. */
const NAMES = /^(?:addresse?s?|domains?|e-?mails?|email address|phones?|phone number|number)$/i;
const REASONS = /^(?:reason|note|comment)$/i;

const cellsOf = (line: string): string[] =>
  line.split(/[,;\t]/).map((cell) => cell.trim().replaceAll(/^"|"$/g, ''));

const valueOf = (name: string): string | null => {
  const isAddress = hasCountryCode(name) || /[^@]@/.test(name);
  return suppressionOf(isAddress ? { address: name } : { domain: name });
};

/**
 * Reads a list of addresses and domains, in turns with other work. A heading names the columns; without one, the first column is an
 * address or a domain, and the rest the reason. Quotes around a value and empty lines are ignored.
 * @returns the entries, or the number of the first line that names neither an address nor a domain, or one that is not valid.
 */
export async function readSuppressions(
  csv: string,
): Promise<{ value: string; reason: string | null }[] | { line: number }> {
  const entries: { value: string; reason: string | null }[] = [];
  let columns: readonly string[] | null = null;
  let isFirst = true;
  for await (const [index, line] of yielding(
    csv
      .replace(/^\uFEFF/, '')
      .split(/\r\n|[\n\r]/)
      .entries(),
  )) {
    const cells = cellsOf(line);
    if (cells.every((cell) => cell === '')) continue;
    const isHeading = isFirst && cells.some((cell) => NAMES.test(cell));
    isFirst = false;
    if (isHeading) {
      columns = cells;
      continue;
    }
    const { names, rest } = columns
      ? byHeading(columns, cells)
      : { names: cells.slice(0, 1), rest: cells.slice(1) };
    const values = names.filter((name) => name !== '').map(valueOf);
    if (values.length === 0 || entries.length + values.length > MAX_SUPPRESSIONS) return { line: index + 1 };
    const reason = truncate(rest.join(', '), 500);
    for (const value of values) {
      if (value === null) return { line: index + 1 };
      entries.push({ value, reason: reason === '' ? null : reason });
    }
  }
  return entries;
}

/** The reason is the last known column, so what follows belongs to it: it may contain commas. */
function byHeading(columns: readonly string[], cells: readonly string[]) {
  const reason = columns.findIndex((column) => REASONS.test(column));
  const isLast = reason === columns.length - 1;
  return {
    names: cells.filter((_, index) => NAMES.test(columns[index] ?? '')),
    rest: reason === -1 ? [] : cells.slice(reason, isLast ? undefined : reason + 1),
  };
}
