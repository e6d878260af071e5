import { z } from 'zod';

/** Shown in place of a secret. */
export const MASK = '••••••••';

/** The names of secret settings, which are declared with `.meta({ secret: true })`. */
export function secretFields(schema: z.ZodType): string[] {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties)
    .filter(([, property]) => typeof property === 'object' && property['secret'] === true)
    .map(([name]) => name);
}

/**
 * Validates settings and encrypts their secrets for storage.
 * @throws ZodError
 */
export function sealConfig(
  schema: z.ZodType,
  given: Record<string, unknown>,
  seal: (plain: string) => string,
): Record<string, unknown> {
  schema.parse(given);
  return mapSecrets(schema, given, seal);
}

/**
 * Decrypts and validates stored settings.
 * @throws ZodError, or whatever `open` throws.
 */
export function openConfig<Config>(
  schema: z.ZodType<Config>,
  stored: Record<string, unknown>,
  open: (sealed: string) => string,
): Config {
  return schema.parse(mapSecrets(schema, stored, open));
}

/** Settings with their secrets masked. */
export function maskConfig(schema: z.ZodType, stored: Record<string, unknown>): Record<string, unknown> {
  return mapSecrets(schema, stored, () => MASK);
}

function mapSecrets(
  schema: z.ZodType,
  config: Record<string, unknown>,
  change: (secret: string) => string,
): Record<string, unknown> {
  const secret = new Set(secretFields(schema));
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [
      name,
      secret.has(name) && typeof value === 'string' ? change(value) : value,
    ]),
  );
}
