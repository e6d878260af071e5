import { z } from 'zod';

/** Shown in place of a secret. */
export const MASK = '••••••••';

/** By schema, because reading a schema takes much longer than opening the settings, which every callback and send does. */
const secretsOf = new WeakMap<z.ZodType, readonly string[]>();

/** The names of secret settings, which are declared with `.meta({ secret: true })`. */
export function secretFields(schema: z.ZodType): readonly string[] {
  const known = secretsOf.get(schema);
  if (known) return known;
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const secrets = Object.entries(properties)
    .filter(([, property]) => typeof property === 'object' && property['secret'] === true)
    .map(([name]) => name);
  secretsOf.set(schema, secrets);
  return secrets;
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
  const secrets = secretFields(schema);
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [
      name,
      secrets.includes(name) && typeof value === 'string' ? change(value) : value,
    ]),
  );
}
